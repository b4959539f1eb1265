import { rateLimitResult, WINDOW_SECONDS, type RateLimiter, type RateLimitResult } from './rate-limiter.ts';

interface Window {
  readonly endsAtMs: number;
  count: number;
}

/**
 * Counts in this process's memory. Ended windows are dropped when another begins, so no timer is needed and no key's
 * count can evict another's.
 *
 * Not `RateLimiterMemory` of rate-limiter-flexible: it returns promises, so no request could be decided synchronously,
 * and it reads the wall clock, which can be set back.
 */
export class InMemoryRateLimiter implements RateLimiter {
  readonly windowSeconds: number;
  /** In the order in which they began, which is also the order in which they end. */
  readonly #windows = new Map<string, Window>();

  constructor(windowSeconds = WINDOW_SECONDS) {
    this.windowSeconds = windowSeconds;
  }

  count(key: string, quota: number): RateLimitResult {
    const nowMs = performance.now();
    const window = this.#find(key, nowMs) ?? this.#begin(key, nowMs);
    window.count += 1;
    return rateLimitResult(window.count, quota, window.endsAtMs - nowMs);
  }

  tryCount(key: string, quota: number): RateLimitResult | null {
    const count = this.#find(key, performance.now())?.count ?? 0;
    return count < quota ? this.count(key, quota) : null;
  }

  #find(key: string, nowMs: number): Window | null {
    const window = this.#windows.get(key);
    return window !== undefined && window.endsAtMs > nowMs ? window : null;
  }

  #begin(key: string, nowMs: number): Window {
    for (const [ended, { endsAtMs }] of this.#windows) {
      if (endsAtMs > nowMs) break;
      this.#windows.delete(ended);
    }
    const window = { endsAtMs: nowMs + this.windowSeconds * 1000, count: 0 };
    this.#windows.set(key, window);
    return window;
  }
}
