import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const MAIN = fileURLToPath(new URL('../../../src/mirror/main.ts', import.meta.url));

/** Each start would compile the same anew otherwise. */
const NODE_COMPILE_CACHE = join(tmpdir(), 'pds-tests-compiled');

/** A mirror in a process of its own, as partners run it. */
export interface MirrorProcess {
  readonly pid: number;
  kill(signal: NodeJS.Signals): void;
  /** Nobody reads any more what it writes to standard output. */
  closeOutput(): void;
  /** Resolves once this stands in what it told. */
  told(what: string): Promise<void>;
  readonly ended: Promise<MirrorEnd>;
}

export interface MirrorEnd {
  /** Null where it was killed. */
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Starts it with this command line and environment, and of the environment else PATH alone. */
export function startMirror(words: readonly string[], environment: Readonly<Record<string, string>>): MirrorProcess {
  const child = spawn(process.execPath, [MAIN, ...words], {
    env: { PATH: process.env['PATH'], NODE_COMPILE_CACHE, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  if (child.pid === undefined) throw new Error('the mirror could not be started');
  let [stdout, stderr] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  const closed = once(child, 'close') as Promise<[number | null]>;
  const ended = closed.then(([code]) => ({ code, stdout, stderr }));
  return {
    pid: child.pid,
    kill: (signal) => child.kill(signal),
    closeOutput: () => child.stdout.destroy(),
    async told(what) {
      while (!(stdout + stderr).includes(what)) {
        if (child.exitCode !== null || child.signalCode !== null) throw new Error(`it ended:\n${stdout}${stderr}`);
        await Promise.race([once(child.stdout, 'data'), once(child.stderr, 'data'), closed]);
      }
    },
    ended,
  };
}
