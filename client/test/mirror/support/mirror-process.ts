import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const MAIN = fileURLToPath(new URL('../../../src/mirror/main.ts', import.meta.url));

/** Shared by all starts, so that each does not compile the same code again. */
const NODE_COMPILE_CACHE = join(tmpdir(), 'pds-tests-compiled');

/** A mirror in its own process, as partners run it. */
export interface MirrorProcess {
  readonly pid: number;
  kill(signal: NodeJS.Signals): void;
  /** Closes the reading end of its standard output. */
  closeOutput(): void;
  /** Resolves once its output contains `what`. */
  printed(what: string): Promise<void>;
  readonly ended: Promise<MirrorEnd>;
}

export interface MirrorEnd {
  /** Null if it was killed. */
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Starts a mirror with these arguments. Of this process's environment it inherits only PATH. */
export function startMirror(args: readonly string[], environment: Readonly<Record<string, string>>): MirrorProcess {
  return startProgram(process.execPath, [MAIN, ...args], { NODE_COMPILE_CACHE, ...environment });
}

/** Starts any program in the same way. */
export function startProgram(
  program: string,
  args: readonly string[],
  environment: Readonly<Record<string, string>>,
): MirrorProcess {
  const child = spawn(program, args, {
    env: { PATH: process.env['PATH'], ...environment },
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
    async printed(what) {
      while (!(stdout + stderr).includes(what)) {
        if (child.exitCode !== null || child.signalCode !== null) throw new Error(`it ended:\n${stdout}${stderr}`);
        await Promise.race([once(child.stdout, 'data'), once(child.stderr, 'data'), closed]);
      }
    },
    ended,
  };
}
