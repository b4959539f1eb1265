import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import type { DatabaseConfig } from '../../src/config.ts';

export const MAIN = fileURLToPath(new URL('../../src/main.js', import.meta.url));

export interface Outcome {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** Runs `pds` as an operator does, in a process of its own, with no settings but these. */
export function runPds(words: readonly string[], settings: Record<string, string>): Promise<Outcome> {
  return runPdsOf(MAIN, words, settings);
}

/** The same with the program of another version. */
export function runPdsOf(main: string, words: readonly string[], settings: Record<string, string>): Promise<Outcome> {
  return runProgram([process.execPath, main, ...words], settings);
}

const SIGNAL_AT = fileURLToPath(new URL('../support/signal-at.ts', import.meta.url));

/** The same, with a signal sent to it just before the first statement whose text contains `at`. */
export function runPdsSignalled(
  words: readonly string[],
  settings: Record<string, string>,
  { signal, at }: { signal: NodeJS.Signals; at: string },
): Promise<Outcome> {
  const command = [process.execPath, '--import', SIGNAL_AT, MAIN, ...words];
  return runProgram(command, { ...settings, SIGNAL: signal, SIGNAL_AT: at });
}

/** The same through a program that becomes the one that follows on its command line, such as `prlimit`. */
export function runPdsThrough(
  launcher: readonly string[],
  words: readonly string[],
  settings: Record<string, string>,
): Promise<Outcome> {
  return runProgram([...launcher, process.execPath, MAIN, ...words], settings);
}

async function runProgram(
  [program = '', ...words]: readonly string[],
  settings: Record<string, string>,
): Promise<Outcome> {
  const child = spawn(program, words, {
    env: { PATH: process.env['PATH'], ...settings },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [stdout, stderr, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'exit') as Promise<[number | null]>,
  ]);
  return { code, stdout, stderr };
}

/** The value of PDS_DATABASE_URL that names this database. */
export function databaseUrlOf(config: DatabaseConfig): string {
  return config.engine === 'sqlite' ? `sqlite:${config.path}` : config.url;
}
