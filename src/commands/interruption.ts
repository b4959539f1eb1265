import type { Output } from './output.ts';

/** How long an interrupted command can take to roll back. */
const GRACE_MS = 2_000;

/** Exit codes as shells report them: 128 plus the signal's number. */
const EXIT_CODES = { SIGINT: 130, SIGTERM: 143 } as const;

type Signal = keyof typeof EXIT_CODES;

/** A signal ended the command. The message says what was done. */
export class InterruptedError extends Error {
  override name = 'InterruptedError';
  readonly exitCode: number;

  constructor(message: string, signal: Signal) {
    super(message);
    this.exitCode = EXIT_CODES[signal];
  }
}

/** Handles Ctrl-C and SIGTERM during a long command. */
export interface Interruption {
  /** @throws InterruptedError after a signal. */
  throwIfInterrupted(): void;
  /** Sets the message for an interruption from now on. */
  saysFromNowOn(sentence: string): void;
  /** Restores Node's default signal handling. */
  stop(): void;
}

/**
 * After a signal, the next `throwIfInterrupted` throws, so that the command rolls back. If it is not called within
 * `GRACE_MS`, or a second signal arrives, the process exits, which rolls back its transactions too.
 *
 * @param sentence the message shown then.
 * @param onSignal called at each signal.
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
