import { pause } from '../retries.ts';
import type { RateLimit } from '../rate-limit.ts';

/** The service reports the reset in whole seconds, so wait slightly longer. */
const AFTER_RESET_MS = 50;

/**
 * Paces requests by the partner's rate limit, as reported in each response. The partner's other programs share the
 * limit, so the mirror waits for the next window while it still leaves them a reserve.
 */
export class Pace {
  readonly #clock: () => number;
  #limit: { readonly remaining: number; readonly reserve: number; readonly resetAtMs: number } | null = null;
  /** Called at the start of each pause, with its length in milliseconds. */
  onPause: (ms: number) => void = () => undefined;

  /** @param clock monotonic milliseconds. */
  constructor(clock: () => number = () => performance.now()) {
    this.#clock = clock;
  }

  /** Records the rate limit of a response. */
  note(limit: RateLimit | null): void {
    if (limit === null) return;
    const { quota, remaining, resetSeconds } = limit;
    const resetAtMs = this.#clock() + resetSeconds * 1_000 + AFTER_RESET_MS;
    this.#limit = { remaining, reserve: reserveOf(quota), resetAtMs };
  }

  /** The time to wait before the next request, in milliseconds. */
  pauseMs(): number {
    if (this.#limit === null || this.#limit.remaining > this.#limit.reserve) return 0;
    return Math.max(0, this.#limit.resetAtMs - this.#clock());
  }

  /** Resolves when the next request can be sent. */
  async turn(signal: AbortSignal): Promise<void> {
    const ms = this.pauseMs();
    if (ms === 0) return;
    this.onPause(ms);
    await pause(ms, signal);
  }
}

/** Requests per window that the mirror leaves to other programs: 1 % of the quota, at least 1. */
export function reserveOf(quota: number): number {
  return Math.min(quota - 1, Math.ceil(quota / 100));
}
