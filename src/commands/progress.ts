import cliProgress from 'cli-progress';
import { printable } from '../printable.ts';
import { watchForInterruption, type Interruption } from './interruption.ts';
import type { Output } from './output.ts';

/** Interval of progress lines if stderr is not a terminal. */
const PLAIN_LINE_EVERY_MS = 5_000;

/** The progress display of a long command. */
export interface Progress {
  /**
   * @param doing such as `Importing`.
   * @param details further details to show.
   */
  readonly show: (doing: string, done: number, total: number, details?: readonly string[]) => void;
  readonly interruption: Interruption;
  readonly stop: () => void;
}

/**
 * Shows a bar on a terminal, otherwise a line every few seconds. Ctrl-C and SIGTERM restore the terminal, and the next
 * `show` throws an InterruptedError.
 *
 * @param interrupted the message shown then.
 */
export function startProgress(output: Output, interrupted: string): Progress {
  const bar = process.stderr.isTTY
    ? new cliProgress.SingleBar({
        format: '{doing} {bar} {percentage}%{details} | {eta_formatted} left',
        stream: process.stderr,
        clearOnComplete: true,
        hideCursor: true,
        // Batches take unequal times, so an estimate from few of them jumps.
        etaBuffer: 200,
      })
    : null;
  let shown: string | null = null;
  let lastLineAtMs: number | null = null;
  const interruption = watchForInterruption(output, interrupted, () => bar?.stop());
  return {
    interruption,
    show(doing, done, total, details = []) {
      interruption.throwIfInterrupted();
      if (bar !== null) {
        const payload = { doing, details: details.map((detail) => ` | ${printable(detail)}`).join('') };
        // A new step restarts the estimate.
        if (shown === doing) bar.update(done, payload);
        else {
          bar.stop();
          bar.start(total, done, payload);
        }
        shown = doing;
        return;
      }
      // Starts at the first call: the command may have waited for a lock before it.
      lastLineAtMs ??= performance.now();
      if (performance.now() - lastLineAtMs <= PLAIN_LINE_EVERY_MS) return;
      lastLineAtMs = performance.now();
      output.note(`${doing}: ${[`${Math.floor((100 * done) / Math.max(1, total))} %`, ...details].join(', ')}`);
    },
    stop() {
      interruption.stop();
      bar?.stop();
    },
  };
}
