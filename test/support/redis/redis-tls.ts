import { makeCertificates } from '../network/certificates.ts';
import { startRedis, type RedisServer } from './redis-server.ts';

/** A TLS-only Redis, with a certificate for 127.0.0.1 from a private CA. */
export interface TlsRedis {
  readonly server: RedisServer;
  /** The path of the CA certificate. */
  readonly authority: string;
}

/** The caller must close the server. */
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
