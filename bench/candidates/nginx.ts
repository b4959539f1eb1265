import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isInstalled } from '../machine/cores.ts';
import type { RunningCandidate } from './candidate.ts';
import { startServer } from './started-server.ts';

export const NGINX = 'nginx, the same bytes as a file';

/** nginx with one process and no log: the upper bound of the machine. Null if nginx is not installed. */
export async function startNginx(folder: string, body: string): Promise<RunningCandidate | null> {
  if (!isInstalled('nginx')) return null;
  const root = join(folder, 'nginx');
  mkdirSync(root, { recursive: true });
  writeFileSync(join(root, 'page.json'), body);
  return startServer({
    name: NGINX,
    isFixed: true,
    command(port) {
      const configuration = join(root, 'nginx.conf');
      writeFileSync(configuration, configurationOf(root, port));
      return { program: 'nginx', args: ['-p', root, '-e', 'stderr', '-c', configuration], stopSignal: 'SIGTERM' };
    },
    requestFor: () => ({ path: '/page.json' }),
  });
}

/** Runs nginx as a single process under the current user, so that it can read the folder. */
function configurationOf(root: string, port: number): string {
  return `daemon off;
master_process off;
pid ${root}/nginx.pid;
events { worker_connections 1024; }
http {
  access_log off;
  sendfile on;
  tcp_nopush on;
  keepalive_requests 1000000000;
  open_file_cache max=10;
  types { application/json json; }
  client_body_temp_path ${root}; proxy_temp_path ${root}; fastcgi_temp_path ${root};
  uwsgi_temp_path ${root}; scgi_temp_path ${root};
  server { listen 127.0.0.1:${port}; root ${root}; }
}
`;
}
