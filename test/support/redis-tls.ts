import { makeCertificates } from './certificates.ts';
import { startRedis, type RedisServer } from './redis-server.ts';

/** A Redis that speaks TLS alone, with a certificate for 127.0.0.1 from an authority that nobody knows. */
export interface TlsRedis {
  readonly server: RedisServer;
  /** The file of the authority's own certificate. */
  readonly authority: string;
}

/** Whoever starts it closes its server. */
export async function startTlsRedis(...settings: readonly string[]): Promise<TlsRedis> {
  let authority = '';
  const server = await startRedis(async (port, workspace) => {
    const { certificate, key, authority: own } = await makeCertificates(workspace, 'tls');
    authority = own;
    const files = ['--tls-cert-file', certificate, '--tls-key-file', key, '--tls-ca-cert-file', authority];
    return ['--port', '0', '--tls-port', String(port), '--tls-auth-clients', 'no', ...files, ...settings];
  });
  return { server, authority };
}
