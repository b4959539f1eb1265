import cliProgress from 'cli-progress';
import { printable } from '../printable.ts';
import { watchForInterruption, type Interruption } from './interruption.ts';
import type { Output } from './output.ts';

/** How often a line is written where there is no terminal to draw a bar on. */
const PLAIN_LINE_EVERY_MS = 5_000;

/** What a command shows while it takes its time. */
export interface Progress {
  /**
   * @param doing such as `Importing`.
   * @param details what else there is to say.
   */
  readonly show: (doing: string, done: number, total: number, details?: readonly string[]) => void;
  readonly interruption: Interruption;
  readonly stop: () => void;
}

/**
 * A bar on a terminal; elsewhere a line now and then. Ctrl-C and SIGTERM give the terminal back as
 * it was, and the next `show` throws an InterruptedError.
 *
 * @param interrupted what the operator reads then.
 */
export function startProgress(output: Output, interrupted: string): Progress {
  const bar = process.stderr.isTTY
    ? new cliProgress.SingleBar({
        format: '{doing} {bar} {percentage}%{details} | {eta_formatted} left',
        stream: process.stderr,
        clearOnComplete: true,
        hideCursor: true,
        // Batches take unequal times: an estimate from few of them jumps.
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
        // A new step has an estimate of its own.
        if (shown === doing) bar.update(done, payload);
        else {
          bar.stop();
          bar.start(total, done, payload);
        }
        shown = doing;
        return;
      }
      // The time begins with the first call: before it, something may have been waited for.
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
