import type { Command } from 'commander';
import { runWords } from '../../src/commands/program.ts';
import type { Outcome } from './run-pds.ts';

let last: Promise<unknown> = Promise.resolve();

/**
 * Runs a command line of `pds` in this process, with only these settings: a start takes 0.3 s of CPU time. Calls wait for
 * each other, since they replace this process's environment and output. Use `runPds` if the process matters: for commands
 * at the same time, signals, limits, standard input, and what a start does.
 */
export function callPds(words: readonly string[], settings: Record<string, string>): Promise<Outcome> {
  const called = last.then(() => call(words, settings));
  last = called.catch(() => undefined);
  return called;
}

async function call(words: readonly string[], settings: Record<string, string>): Promise<Outcome> {
  const { env, exitCode } = process;
  using restored = new DisposableStack();
  restored.defer(() => {
    process.env = env;
    process.exitCode = exitCode;
  });
  const stdout = capture(process.stdout, restored);
  const stderr = capture(process.stderr, restored);
  process.env = { PATH: env['PATH'], ...settings };
  process.exitCode = undefined;
  await runWords(words);
  return { code: codeOf(process), stdout: stdout(), stderr: stderr() };
}

function codeOf({ exitCode }: { readonly exitCode?: string | number | null | undefined }): number {
  return Number(exitCode ?? 0);
}

/** Keeps from a stream what is written to it, and returns a function that returns that. */
function capture(stream: NodeJS.WriteStream, restored: DisposableStack): () => string {
  const own = Object.getOwnPropertyDescriptor(stream, 'write');
  restored.defer(() => {
    if (own === undefined) Reflect.deleteProperty(stream, 'write');
    else Object.defineProperty(stream, 'write', own);
  });
  let text = '';
  stream.write = (chunk: string | Uint8Array, encoding?: unknown, done?: unknown): boolean => {
    text += typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString();
    const callback = typeof encoding === 'function' ? encoding : done;
    if (typeof callback === 'function') process.nextTick(callback);
    return true;
  };
  return () => text;
}

/** The names of all leaf commands, such as `partner create`. */
export function commandsOf(command: Command, prefix: string[] = []): string[] {
  return command.commands.flatMap((child) => {
    const path = [...prefix, child.name()];
    return child.commands.length > 0 ? commandsOf(child, path) : [path.join(' ')];
  });
}
