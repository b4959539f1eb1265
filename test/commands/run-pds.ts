import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import type { DatabaseConfig } from '../../src/config.ts';

/** The program that tests start: bundled in a run of tests (`test/support/bundled-program.ts`), otherwise the sources. */
export const MAIN = process.env['TEST_PROGRAM'] ?? fileURLToPath(new URL('../../src/main.js', import.meta.url));

export interface Outcome {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** Runs `pds` as an operator does, in a separate process, with only these settings. */
export function runPds(words: readonly string[], settings: Record<string, string>): Promise<Outcome> {
  return runPdsOf(MAIN, words, settings);
}

/** Like `runPds`, with another version's program. */
export function runPdsOf(main: string, words: readonly string[], settings: Record<string, string>): Promise<Outcome> {
  return runProgram([process.execPath, main, ...words], settings);
}

const SIGNAL_AT = fileURLToPath(new URL('../support/process/signal-at.ts', import.meta.url));

/** Like `runPds`, with a signal sent just before the first statement that contains a text, or the first after another. */
export function runPdsSignalled(
  words: readonly string[],
  settings: Record<string, string>,
  { signal, statement, after = '' }: { signal: NodeJS.Signals; statement: string; after?: string },
): Promise<Outcome> {
  const command = [process.execPath, '--import', SIGNAL_AT, MAIN, ...words];
  return runProgram(command, { ...settings, SIGNAL: signal, SIGNAL_AT: statement, SIGNAL_AFTER: after });
}

/** Like `runPds`, through a launcher that executes the rest of its command line, such as `prlimit`. */
export function runPdsThrough(
  launcher: readonly string[],
  words: readonly string[],
  settings: Record<string, string>,
): Promise<Outcome> {
  return runProgram([...launcher, process.execPath, MAIN, ...words], settings);
}

const KILL_AT = fileURLToPath(new URL('../recovery/kill-at.ts', import.meta.url));

/** Like `runPds`, but killed just before an operation on files, counted from 0; returns whether it completed before. */
export async function runKilledAt(
  killAt: number,
  words: readonly string[],
  settings: Record<string, string>,
  main = MAIN,
): Promise<boolean> {
  const command = [process.execPath, '--import', KILL_AT, main, ...words];
  return (await runProgram(command, { ...settings, KILL_AT: String(killAt) })).code === 0;
}

/** Runs a program to its end, with only PATH and these variables. */
export async function runProgram(
  [program = '', ...words]: readonly string[],
  settings: Record<string, string>,
  options: { readonly cwd?: string; readonly timeout?: number } = {},
): Promise<Outcome> {
  const child = spawn(program, words, {
    env: { PATH: process.env['PATH'], ...settings },
    stdio: ['ignore', 'pipe', 'pipe'],
    ...options,
  });
  const [stdout, stderr, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'exit') as Promise<[number | null]>,
  ]);
  return { code, stdout, stderr };
}

/** The value of PDS_DATABASE_URL for this database. */
export function databaseUrlOf(config: DatabaseConfig): string {
  return config.engine === 'sqlite' ? `sqlite:${config.path}` : config.url;
}
