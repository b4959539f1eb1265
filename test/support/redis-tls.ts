import type { Workspace } from './cluster/workspace.ts';
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
    const { certificate, key, authority: own } = await makeCertificates(workspace);
    authority = own;
    const files = ['--tls-cert-file', certificate, '--tls-key-file', key, '--tls-ca-cert-file', authority];
    return ['--port', '0', '--tls-port', String(port), '--tls-auth-clients', 'no', ...files, ...settings];
  });
  return { server, authority };
}

async function makeCertificates(
  workspace: Workspace,
): Promise<{ certificate: string; key: string; authority: string }> {
  workspace.makeFolder('tls');
  const [authority, authorityKey, certificate, key] = ['ca.pem', 'ca.key', 'redis.pem', 'redis.key'].map((name) =>
    workspace.path('tls', name),
  ) as [string, string, string, string];
  const request = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'];
  await workspace.run('openssl', ...request, '-subj', '/CN=test authority', '-keyout', authorityKey, '-out', authority);
  const signed = ['-CA', authority, '-CAkey', authorityKey, '-addext', 'subjectAltName=IP:127.0.0.1'];
  const subject = ['-subj', '/CN=redis', '-addext', 'basicConstraints=critical,CA:false'];
  await workspace.run('openssl', ...request, ...subject, ...signed, '-keyout', key, '-out', certificate);
  return { certificate, key, authority };
}
