import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { MAIN } from '../../commands/run-pds.ts';

const SCRIPT = fileURLToPath(new URL('./in-terminal.py', import.meta.url));

export interface TerminalOutcome {
  /** Everything written to the terminal. */
  readonly output: string;
  /** The exit code, or the negated number of the signal that ended it. */
  readonly code: number;
}

/**
 * Runs `pds` in a pseudo-terminal, created by Python.
 *
 * @param text the output to wait for before acting.
 * @param typed the action: `ctrl-c` types Ctrl-C, `term` sends SIGTERM, anything else is typed as a line.
 * @param main another program.
 */
export async function runPdsInTerminal(
  words: readonly string[],
  settings: Readonly<Record<string, string>>,
  { text, typed }: { text: string; typed: string },
  main = MAIN,
): Promise<TerminalOutcome> {
  const args = [SCRIPT, text, typed, process.execPath, main, ...words];
  const environment = { PATH: process.env['PATH'], TERM: 'xterm', ...settings };
  const { stdout } = await promisify(execFile)('python3', args, { env: environment, maxBuffer: 64 * 1024 * 1024 });
  return JSON.parse(stdout) as TerminalOutcome;
}

/** The terminal modes that a program switched off and did not restore. */
export function leftBehindIn(output: string): string[] {
  const modes = [
    ['cursor', '\u001b[?25l', '\u001b[?25h'],
    ['line wrap', '\u001b[?7l', '\u001b[?7h'],
  ] as const;
  return modes.filter(([, off, on]) => output.lastIndexOf(off) > output.lastIndexOf(on)).map(([mode]) => mode);
}
