import { createInterface } from 'node:readline';
import type { Output } from './output.ts';

/** Whether a prompt is possible: stdin and stderr are terminals. */
export function canAsk(): boolean {
  return process.stdin.isTTY && process.stderr.isTTY;
}

/**
 * Prompts on the terminal.
 *
 * @returns true only for `y` or `yes`: an empty line or end of input means no.
 */
export async function ask(output: Output, question: string): Promise<boolean> {
  output.note(`${question} [y/N]`);
  // No line editing, so that Ctrl-C ends the command as usual.
  const lines = createInterface({ input: process.stdin, terminal: false });
  try {
    for await (const line of lines) return /^y(es)?$/i.test(line.trim());
    return false;
  } finally {
    lines.close();
  }
}
