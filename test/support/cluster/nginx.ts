import { readFileSync } from 'node:fs';
import { findLastingPort } from '../free-port.ts';
import { answers } from './answers.ts';
import { fillIn } from './operator-file.ts';
import { startPart } from './part.ts';
import type { Workspace } from './workspace.ts';

const NAME = 'api.example.com';

/** The main configuration around the site: in the foreground, with all paths in our own folder. */
const AROUND_THE_SITE = `daemon off;
worker_processes 2;
error_log stderr warn;
pid nginx/nginx.pid;
events { worker_connections 1024; }
http {
  client_body_temp_path nginx; proxy_temp_path nginx; fastcgi_temp_path nginx;
  uwsgi_temp_path nginx; scgi_temp_path nginx;
  include site.conf;
}
`;

export type NginxPart = Awaited<ReturnType<typeof startNginx>>;

/**
 * Starts nginx with the site from the operators' guide, as partners reach it, in front of two services, as many as the
 * site has.
 */
export async function startNginx(workspace: Workspace, [first, second]: readonly number[]) {
  if (first === undefined || second === undefined) throw new Error('the site has two services');
  const port = await findLastingPort();
  const certificate = await writeSite(workspace, port, first, second);
  const args = ['-p', workspace.folder, '-e', 'stderr', '-c', workspace.path('nginx.conf')];
  await workspace.run('nginx', '-t', ...args);
  return startPart(
    workspace,
    { name: 'nginx', program: 'nginx', args: () => args, stopSignal: 'SIGTERM', isReady: () => answers(port) },
    // The CA that partners trust, and the server name they request.
    { port, url: `https://127.0.0.1:${port}`, tls: { ca: certificate, servername: NAME } },
  );
}

async function writeSite(workspace: Workspace, port: number, first: number, second: number): Promise<string> {
  workspace.makeFolder('nginx');
  const [key, certificate] = [workspace.path('nginx', 'site.key'), workspace.path('nginx', 'site.pem')];
  const request = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  const subject = ['-days', '2', '-subj', `/CN=${NAME}`, '-addext', `subjectAltName=DNS:${NAME}`];
  await workspace.run('openssl', ...request, ...subject, '-keyout', key, '-out', certificate);
  const site = fillIn('nginx.conf', {
    'listen 443 ssl': `listen 127.0.0.1:${port} ssl`,
    '10.0.0.11:8080': `127.0.0.1:${first}`,
    '10.0.0.12:8080': `127.0.0.1:${second}`,
    '/etc/nginx/tls/api.example.com.pem': certificate,
    '/etc/nginx/tls/api.example.com.key': key,
  });
  workspace.write('site.conf', site);
  workspace.write('nginx.conf', AROUND_THE_SITE);
  return readFileSync(certificate, 'utf8');
}
