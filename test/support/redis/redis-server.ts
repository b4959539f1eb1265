import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { answers } from '../cluster/answers.ts';
import { Part } from '../cluster/part.ts';
import { Workspace } from '../cluster/workspace.ts';
import { findLastingPort } from '../free-port.ts';

/** A Redis or Valkey server with custom settings and no persistence. */
export class RedisServer extends Part {
  readonly port: number;
  readonly url: string;
  readonly #workspace: Workspace;

  constructor(workspace: Workspace, port: number, settings: readonly string[]) {
    super(workspace, {
      name: 'redis',
      program: findProgram(),
      args: () => ['--bind', '127.0.0.1', '--port', String(port), '--save', '', '--appendonly', 'no', ...settings],
      stopSignal: 'SIGTERM',
      isReady: () => answers(port),
    });
    this.port = port;
    this.url = `redis://127.0.0.1:${port}`;
    this.#workspace = workspace;
  }

  /** Stops it, and removes its files. */
  close(): Promise<void> {
    return this.#workspace.close();
  }
}

/**
 * Starts a server on a port of 127.0.0.1. The caller must close it.
 *
 * @param makeSettings receives the port and the workspace, in which it can create files for the settings.
 */
export async function startRedis(
  makeSettings: (port: number, workspace: Workspace) => readonly string[] | Promise<readonly string[]> = () => [],
): Promise<RedisServer> {
  await using opened = new AsyncDisposableStack();
  const workspace = new Workspace();
  opened.defer(() => workspace.close());
  const port = await findLastingPort();
  const server = new RedisServer(workspace, port, await makeSettings(port, workspace));
  await server.start();
  opened.move();
  return server;
}

function findProgram(): string {
  const folders = (process.env['PATH'] ?? '').split(':');
  const programs = ['redis-server', 'valkey-server'].flatMap((name) => folders.map((folder) => join(folder, name)));
  const found = programs.find((program) => existsSync(program));
  if (found === undefined) throw new Error('no Redis found: install redis-server or valkey-server');
  return found;
}
