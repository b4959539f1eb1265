import type { Workspace } from '../cluster/workspace.ts';

/** The files of a TLS server on 127.0.0.1, and of the private CA that signed its certificate. */
export type Certificates = Awaited<ReturnType<typeof makeCertificates>>;

/** Creates the certificates in a new folder of the workspace. */
export async function makeCertificates(workspace: Workspace, folder: string) {
  workspace.makeFolder(folder);
  const [authority, authorityKey, certificate, key] = ['ca.pem', 'ca.key', 'server.pem', 'server.key'].map((name) =>
    workspace.path(folder, name),
  ) as [string, string, string, string];
  const request = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'];
  await workspace.run('openssl', ...request, '-subj', '/CN=test authority', '-keyout', authorityKey, '-out', authority);
  const signed = ['-CA', authority, '-CAkey', authorityKey, '-addext', 'subjectAltName=IP:127.0.0.1'];
  const subject = ['-subj', '/CN=server', '-addext', 'basicConstraints=critical,CA:false'];
  await workspace.run('openssl', ...request, ...subject, ...signed, '-keyout', key, '-out', certificate);
  return { certificate, key, authority };
}
