import cliProgress from 'cli-progress';
import { OperatorError } from '../../operator-error.ts';
import { printable } from '../../printable.ts';
import type { WorkHooks } from '../../database/catalog-lock.ts';
import type { Output } from './output.ts';
import { createInterface } from 'node:readline';

/** Interval of progress lines if stderr is not a terminal. */
const PLAIN_LINE_EVERY_MS = 5_000;

/** Leaves room for what is done, the percentage and the time left in 80 columns. */
const BAR_WIDTH = 12;

/** How long an interrupted command can take to roll back. */
const GRACE_MS = 2_000;

/** Exit codes as shells report them: 128 plus the signal's number. */
const EXIT_CODES = { SIGINT: 130, SIGTERM: 143 } as const;

type Signal = keyof typeof EXIT_CODES;
const SIGNALS = Object.keys(EXIT_CODES) as Signal[];

/** A signal ended the command. The message says what was done. */
export class InterruptedError extends OperatorError {
  readonly exitCode: number;

  constructor(message: string, signal: Signal) {
    super(message);
    this.exitCode = EXIT_CODES[signal];
  }
}

/** The progress display of a long command, and its handling of Ctrl-C and SIGTERM. */
export type Progress = ReturnType<typeof startProgress>;

/**
 * Shows a bar on a terminal, otherwise a line every few seconds. A signal restores the terminal, and the next `show` or
 * `throwIfInterrupted` throws, so that the command rolls back. If that takes longer than `GRACE_MS`, or a second signal
 * arrives, the process exits, which rolls back its transactions too.
 *
 * @param interrupted the message shown then.
 */
export function startProgress(output: Output, interrupted: string) {
  const bar = process.stderr.isTTY
    ? new cliProgress.SingleBar({
        format: '{doing} {bar} {percentage}%{details}{eta_formatted}',
        stream: process.stderr,
        clearOnComplete: true,
        hideCursor: true,
        barsize: BAR_WIDTH,
        // There is no estimate before the first batch.
        formatTime: (seconds) => (seconds > 0 ? ` | ${formatDuration(seconds)} left` : ''),
        // Batches take unequal times, so an estimate from few of them jumps.
        etaBuffer: 200,
      })
    : null;
  let currentStep: string | null = null;
  let lastLineAtMs: number | null = null;
  let message = interrupted;
  let received: Signal | null = null;
  let timer: NodeJS.Timeout | undefined;
  const exit = (signal: Signal): void => {
    output.note(message);
    process.exit(EXIT_CODES[signal]);
  };
  const receive = (signal: Signal): void => {
    bar?.stop();
    if (received !== null) exit(signal);
    received = signal;
    timer = setTimeout(() => exit(signal), GRACE_MS).unref();
  };
  for (const signal of SIGNALS) process.on(signal, receive);
  const throwIfInterrupted = (): void => {
    if (received !== null) throw new InterruptedError(message, received);
  };
  const show = (doing: string, done: number, total: number, details: readonly string[] = []): void => {
    throwIfInterrupted();
    if (bar !== null) {
      const payload = { doing, details: details.map((detail) => ` | ${printable(detail)}`).join('') };
      // A new step restarts the estimate.
      if (currentStep === doing) bar.update(done, payload);
      else {
        bar.stop();
        bar.start(total, done, payload);
      }
      currentStep = doing;
      return;
    }
    // Starts at the first call: the command may have waited for a lock before it.
    lastLineAtMs ??= performance.now();
    if (performance.now() - lastLineAtMs <= PLAIN_LINE_EVERY_MS) return;
    lastLineAtMs = performance.now();
    output.note(`${doing}: ${[`${Math.floor((100 * done) / Math.max(1, total))} %`, ...details].join(', ')}`);
  };
  return {
    /** `doing` is such as `Importing`. @throws InterruptedError after a signal. */
    show,
    /** @throws InterruptedError after a signal. */
    throwIfInterrupted,
    /**
     * For long work on the database: shows its progress, and ends it after a signal that arrives before its commit.
     *
     * @param committed what an operator can do after a signal during the commit.
     */
    hooks: (doing: string, committed: string): Required<WorkHooks> => ({
      onWaiting: () => output.note('Waiting up to a minute for a running import to finish.'),
      throwIfInterrupted,
      onProgress: ({ done, total, what }) => show(doing, done, total, [what]),
      onCommit: () => {
        throwIfInterrupted();
        message = `Interrupted during the commit: ${committed}.`;
      },
    }),
    /** Ends the display, and restores Node's default signal handling. */
    stop: (): void => {
      clearTimeout(timer);
      for (const signal of SIGNALS) process.off(signal, receive);
      bar?.stop();
    },
  };
}

/** Seconds as `42s`, `9m 5s` or `2h 10m`. */
export function formatDuration(totalSeconds: number): string {
  const seconds = Math.round(totalSeconds);
  if (seconds < 60) return `${seconds}s`;
  const minutes = Math.floor(seconds / 60);
  return minutes < 60 ? `${minutes}m ${seconds % 60}s` : `${Math.floor(minutes / 60)}h ${minutes % 60}m`;
}

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
