import { createInterface } from 'node:readline';
import { OperatorError } from '../../operator-error.ts';
import type { Output } from './output.ts';
import { InterruptedError } from './progress.ts';

/**
 * Asks on the terminal. Only `y` and `yes` confirm: an empty line or the end of input means no.
 *
 * @throws OperatorError if the operator declines.
 * @throws InterruptedError after Ctrl-C.
 */
export async function confirm(output: Output, question: string): Promise<void> {
  // No line editing, so that Ctrl-C is a signal as usual.
  const lines = createInterface({ input: process.stdin, terminal: false });
  const answer = Promise.withResolvers<string>();
  const interrupt = (): void => answer.reject(new InterruptedError('Interrupted; nothing was changed.', 'SIGINT'));
  lines.once('line', answer.resolve);
  lines.once('close', () => answer.resolve(''));
  // Before the question is on the screen.
  process.once('SIGINT', interrupt);
  output.note(`${question} [y/N]`);
  try {
    if (/^y(es)?$/i.test((await answer.promise).trim())) return;
  } finally {
    process.off('SIGINT', interrupt);
    lines.close();
  }
  throw new OperatorError('not confirmed; nothing was changed');
}
