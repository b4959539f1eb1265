import type { Output } from './output.ts';

/** How long a command that was interrupted has to undo what it did, as it is done when something fails. */
const GRACE_MS = 2_000;

/** What shells report of a program that a signal ended: 128 and the signal's number. */
const EXIT_CODES = { SIGINT: 130, SIGTERM: 143 } as const;

type Signal = keyof typeof EXIT_CODES;

/** A signal ended the command. The message says what became of it. */
export class InterruptedError extends Error {
  override name = 'InterruptedError';
  readonly exitCode: number;

  constructor(message: string, signal: Signal) {
    super(message);
    this.exitCode = EXIT_CODES[signal];
  }
}

/** Watches for Ctrl-C and SIGTERM while a command takes its time. */
export interface Interruption {
  /** @throws InterruptedError after a signal. */
  throwIfInterrupted(): void;
  /** What the operator reads from now on if the command is interrupted. */
  saysFromNowOn(sentence: string): void;
  /** Leaves signals to Node again. */
  stop(): void;
}

/**
 * After a signal the next `throwIfInterrupted` throws, so that the command undoes what it did. If
 * none is called in time, or at a second signal, the process ends as it is: transactions end with it.
 *
 * @param sentence what the operator reads then.
 * @param onSignal called at the first signal.
 */
export function watchForInterruption(output: Output, sentence: string, onSignal: () => void): Interruption {
  let received: Signal | null = null;
  let said = sentence;
  let timer: NodeJS.Timeout | undefined;
  const end = (signal: Signal): void => {
    output.note(said);
    process.exit(EXIT_CODES[signal]);
  };
  const receive = (signal: Signal): void => {
    onSignal();
    if (received !== null) end(signal);
    received = signal;
    timer = setTimeout(() => end(signal), GRACE_MS).unref();
  };
  const signals = Object.keys(EXIT_CODES) as Signal[];
  for (const signal of signals) process.on(signal, receive);
  return {
    throwIfInterrupted() {
      if (received !== null) throw new InterruptedError(said, received);
    },
    saysFromNowOn(next) {
      said = next;
    },
    stop() {
      clearTimeout(timer);
      for (const signal of signals) process.off(signal, receive);
    },
  };
}
