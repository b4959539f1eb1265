import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { DatabaseConfig } from '../../src/config.ts';
import { databaseUrlOf, MAIN } from '../commands/run-pds.ts';
import { createClient, type Client } from './client.ts';

const LISTENING = /Server listening at http:\/\/127\.0\.0\.1:(\d+)/;

const ADMIN = /(?:administrators find .*|admin server) at http:\/\/127\.0\.0\.1:(\d+)/;

/** `pds serve` as a separate process. */
export interface Serving extends AsyncDisposable {
  readonly pid: number;
  kill(signal: NodeJS.Signals): void;
  /** The exit code and signal. */
  exited: Promise<unknown[]>;
  /** Resolves when it has exited and all of its output has arrived. */
  closed: Promise<unknown>;
  /** Standard output and error combined, so far. */
  output(): string;
  /**
   * The port, once it listens.
   *
   * @throws Error with the output if the process exited first.
   */
  port(): Promise<number>;
  /** The admin port, once it listens. It is logged at the default PDS_LOG_LEVEL, `info`. */
  adminPort(): Promise<number>;
  /**
   * Resolves once a text appears in the output.
   *
   * @throws Error with the output if the process exited first.
   */
  said(text: string | RegExp): Promise<void>;
  /** A client of it, once it listens, that ends with it. */
  client(): Promise<Client>;
  /** Kills it, unless it has ended. */
  close(): Promise<void>;
}

/** Starts `pds serve` on a port that the system chooses. The caller must stop it, for example by `await using`. */
export function startServing(
  config: DatabaseConfig,
  environment: Record<string, string> = {},
  ...options: string[]
): Serving {
  return startServingThrough([], config, environment, ...options);
}

/** Like `startServing`, through a launcher that executes the rest of its command line, such as `prlimit`. */
export function startServingThrough(
  launcher: readonly string[],
  config: DatabaseConfig,
  environment: Record<string, string> = {},
  ...options: string[]
): Serving {
  const settings = { PDS_DATABASE_URL: databaseUrlOf(config), PDS_ADMIN_PORT: '0', ...environment };
  return startProgram([...launcher, process.execPath, MAIN, 'serve', ...options], settings);
}

/** Like `startServing`, with another version's program and only these settings, all of which that version must know. */
export function startServingOf(main: string, environment: Record<string, string>, ...options: string[]): Serving {
  return startProgram([process.execPath, main, 'serve', ...options], environment);
}

function startProgram([program = '', ...words]: readonly string[], environment: Record<string, string>): Serving {
  const settings = { PDS_PORT: '0', PDS_REQUESTS_PER_MINUTE: '1000000', ...environment };
  const child = spawn(program, words, {
    env: { PATH: process.env['PATH'], ...settings },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  if (child.pid === undefined) throw new Error('pds serve could not be started');
  const chunks: string[] = [];
  const output = (): string => chunks.join('');
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => chunks.push(chunk.toString()));
  }
  const exited = once(child, 'exit');
  const said = async (text: string | RegExp): Promise<void> => {
    while (output().search(text) < 0) {
      if (child.exitCode !== null || child.signalCode !== null) throw new Error(`it ended:\n${output()}`);
      await Promise.race([once(child.stdout, 'data'), exited]);
    }
  };
  const port = async (): Promise<number> => {
    await said(LISTENING);
    return Number(LISTENING.exec(output())?.[1]);
  };
  const clients: Client[] = [];
  const closed = once(child, 'close');
  const close = async (): Promise<void> => {
    for (const client of clients) client.close();
    child.kill('SIGKILL');
    await closed;
  };
  return {
    pid: child.pid,
    kill: (signal) => child.kill(signal),
    exited,
    closed,
    output,
    said,
    port,
    async adminPort() {
      await said(ADMIN);
      return Number(ADMIN.exec(output())?.[1]);
    },
    async client() {
      const client = createClient(`http://127.0.0.1:${await port()}`);
      clients.push(client);
      return client;
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}
