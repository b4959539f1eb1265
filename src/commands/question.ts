import { createInterface } from 'node:readline';
import type { Output } from './output.ts';

/** Whether someone can be asked: what is typed comes from a terminal, and the question is seen on one. */
export function canAsk(): boolean {
  return process.stdin.isTTY && process.stderr.isTTY;
}

/**
 * Asks on the terminal, below what is said before it.
 *
 * @returns true for `y` or `yes` alone: an empty line and the end of the input are a no.
 */
export async function ask(output: Output, question: string): Promise<boolean> {
  output.note(`${question} [y/N]`);
  // Without editing of the line, so that Ctrl-C ends the command as it does elsewhere.
  const lines = createInterface({ input: process.stdin, terminal: false });
  try {
    for await (const line of lines) return /^y(es)?$/i.test(line.trim());
    return false;
  } finally {
    lines.close();
  }
}
