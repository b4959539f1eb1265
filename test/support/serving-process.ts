import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { DatabaseConfig } from '../../src/config.ts';
import { databaseUrlOf } from '../commands/run-pds.ts';

/** The command of this version. */
export const MAIN = fileURLToPath(new URL('../../src/main.js', import.meta.url));
const LISTENING = /Server listening at http:\/\/127\.0\.0\.1:(\d+)/;

const ADMIN = /administrators find .* at http:\/\/127\.0\.0\.1:(\d+)/;

/** `pds serve` in a process of its own. */
export interface Serving {
  readonly pid: number;
  kill(signal: NodeJS.Signals): void;
  /** Code and signal. */
  exited: Promise<unknown[]>;
  /** Until no process is left that writes to its output, workers included. */
  closed: Promise<unknown>;
  /** Standard output and error together, so far. */
  output(): string;
  /**
   * The port, once it listens.
   *
   * @throws Error with the output where it ended before.
   */
  port(): Promise<number>;
  /** The port for administrators, once it listens; it is named where PDS_LOG_LEVEL is `info`, as it is unless said otherwise. */
  adminPort(): Promise<number>;
  /**
   * Resolves once a text stands in the output.
   *
   * @throws Error with the output where it ended before.
   */
  said(text: string | RegExp): Promise<void>;
}

/** Starts `pds serve` on a database, on a port that the system chooses. Whoever starts it ends it. */
export function startServing(
  config: DatabaseConfig,
  environment: Record<string, string> = {},
  ...options: string[]
): Serving {
  return startServingThrough([], config, environment, ...options);
}

/** The same through a program that becomes the one that follows on its command line, such as `prlimit`. */
export function startServingThrough(
  launcher: readonly string[],
  config: DatabaseConfig,
  environment: Record<string, string> = {},
  ...options: string[]
): Serving {
  const settings = { PDS_DATABASE_URL: databaseUrlOf(config), PDS_ADMIN_PORT: '0', ...environment };
  return startProgram([...launcher, process.execPath, MAIN, 'serve', ...options], settings);
}

/** The same with the program of another version, and no other settings than these, of which that version has to know all. */
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
  return {
    pid: child.pid,
    kill: (signal) => child.kill(signal),
    exited,
    closed: once(child, 'close'),
    output,
    said,
    async port() {
      await said(LISTENING);
      return Number(LISTENING.exec(output())?.[1]);
    },
    async adminPort() {
      await said(ADMIN);
      return Number(ADMIN.exec(output())?.[1]);
    },
  };
}
