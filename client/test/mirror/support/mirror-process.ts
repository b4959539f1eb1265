import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';

const MAIN = fileURLToPath(new URL('../../../src/mirror/main.ts', import.meta.url));

/** A mirror in a process of its own, as partners run it. */
export interface MirrorProcess {
  readonly pid: number;
  kill(signal: NodeJS.Signals): void;
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

/** Starts it with this command line and environment, and nothing else of the environment but PATH. */
export function startMirror(words: readonly string[], environment: Readonly<Record<string, string>>): MirrorProcess {
  const child = spawn(process.execPath, [MAIN, ...words], {
    env: { PATH: process.env['PATH'], ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  if (child.pid === undefined) throw new Error('the mirror could not be started');
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => {
      output += chunk.toString();
    });
  const closed = once(child, 'close') as Promise<[number | null]>;
  const ended = Promise.all([text(child.stdout), text(child.stderr), closed]).then(([stdout, stderr, [code]]) => ({
    code,
    stdout,
    stderr,
  }));
  return {
    pid: child.pid,
    kill: (signal) => child.kill(signal),
    async told(what) {
      while (!output.includes(what)) {
        if (child.exitCode !== null || child.signalCode !== null) throw new Error(`it ended:\n${output}`);
        await Promise.race([once(child.stdout, 'data'), once(child.stderr, 'data'), closed]);
      }
    },
    ended,
  };
}
