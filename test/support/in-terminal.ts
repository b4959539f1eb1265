import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { MAIN } from '../commands/run-pds.ts';

const SCRIPT = fileURLToPath(new URL('./in-terminal.py', import.meta.url));

export interface TerminalOutcome {
  /** All that was written to the terminal. */
  readonly output: string;
  /** Negative for the number of the signal that ended it. */
  readonly code: number;
}

/**
 * Runs `pds` in a pseudo-terminal, which Python makes.
 *
 * @param text once this was written,
 * @param typed this is done: `ctrl-c` typed, SIGTERM sent for `term`, or any other line typed.
 */
export async function runPdsInTerminal(
  words: readonly string[],
  settings: Readonly<Record<string, string>>,
  { text, typed }: { text: string; typed: string },
): Promise<TerminalOutcome> {
  const args = [SCRIPT, text, typed, process.execPath, MAIN, ...words];
  const environment = { PATH: process.env['PATH'], TERM: 'xterm', ...settings };
  const { stdout } = await promisify(execFile)('python3', args, { env: environment, maxBuffer: 64 * 1024 * 1024 });
  return JSON.parse(stdout) as TerminalOutcome;
}

/** What a program has hidden or switched off on a terminal, and not given back. */
export function leftBehindIn(output: string): string[] {
  const modes = [
    ['cursor', '\u001b[?25l', '\u001b[?25h'],
    ['line wrap', '\u001b[?7l', '\u001b[?7h'],
  ] as const;
  return modes.filter(([, off, on]) => output.lastIndexOf(off) > output.lastIndexOf(on)).map(([mode]) => mode);
}
