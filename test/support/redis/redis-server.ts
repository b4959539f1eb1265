import { answers } from '../cluster/answers.ts';
import { startPart } from '../cluster/part.ts';
import { Workspace } from '../cluster/workspace.ts';
import { findLastingPort } from '../free-port.ts';
import { findInstalled } from '../installed-programs.ts';

export type RedisServer = Awaited<ReturnType<typeof startRedis>>;

/**
 * Starts a Redis or Valkey server with custom settings and no persistence on a port of 127.0.0.1. The caller must close
 * it, which also removes its files.
 *
 * @param makeSettings receives the port and the workspace, in which it can create files for the settings.
 */
export async function startRedis(
  makeSettings: (port: number, workspace: Workspace) => readonly string[] | Promise<readonly string[]> = () => [],
) {
  await using opened = new AsyncDisposableStack();
  const workspace = new Workspace();
  opened.defer(() => workspace.close());
  const program = findInstalled('redis') ?? 'redis-server';
  const port = await findLastingPort();
  const settings = await makeSettings(port, workspace);
  const args = ['--bind', '127.0.0.1', '--port', String(port), '--save', '', '--appendonly', 'no', ...settings];
  const server = await startPart(
    workspace,
    { name: 'redis', program, args: () => args, stopSignal: 'SIGTERM', isReady: () => answers(port) },
    { port, url: `redis://127.0.0.1:${port}`, close: () => workspace.close() },
  );
  opened.move();
  return server;
}
