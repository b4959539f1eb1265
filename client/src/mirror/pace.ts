import { pause } from '../retries.ts';
import type { RateLimit } from '../rate-limit.ts';

/** The window begins anew a moment after the service says, whose seconds are whole. */
const AFTER_RESET_MS = 50;

/**
 * Keeps within the partner's limit, which other programs may use up as well: each answer says what is left of it. When
 * nearly nothing is left, it waits for the next window, so that others are not refused for its sake.
 */
export class Pace {
  readonly #clock: () => number;
  #limit: { readonly remaining: number; readonly reserve: number; readonly resetAtMs: number } | null = null;
  /** Is told of each pause, in milliseconds. */
  onPause: (ms: number) => void = () => undefined;

  /** @param clock milliseconds that only rise. */
  constructor(clock: () => number = () => performance.now()) {
    this.#clock = clock;
  }

  /** What an answer said. */
  note(limit: RateLimit | null): void {
    if (limit === null) return;
    const { quota, remaining, resetSeconds } = limit;
    const resetAtMs = this.#clock() + resetSeconds * 1_000 + AFTER_RESET_MS;
    this.#limit = { remaining, reserve: reserveOf(quota), resetAtMs };
  }

  /** How long to wait before the next request, in milliseconds. */
  pauseMs(): number {
    if (this.#limit === null || this.#limit.remaining > this.#limit.reserve) return 0;
    return Math.max(0, this.#limit.resetAtMs - this.#clock());
  }

  /** Resolves when a request may be made. */
  async turn(signal: AbortSignal): Promise<void> {
    const ms = this.pauseMs();
    if (ms === 0) return;
    this.onPause(ms);
    await pause(ms, signal);
  }
}

/** Requests of a window that are left to others: one in a hundred. */
export function reserveOf(quota: number): number {
  return Math.min(quota - 1, Math.ceil(quota / 100));
}
