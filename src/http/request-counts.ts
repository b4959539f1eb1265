import type { Partner } from '../access/scope.ts';
import { networkOf } from './address-network.ts';
import { CountingWindows } from './counting-windows.ts';

/** Failed authentications per minute and address; further failures get 429. */
export const FAILURES_PER_MINUTE = 60;

/** Length of a rate limit window. */
export const WINDOW_SECONDS = 60;

/** The state of a rate limit after counting one more request. */
export interface RateLimitResult {
  readonly isExceeded: boolean;
  readonly remaining: number;
  /** Whole seconds until the window resets, at least 1. */
  readonly resetSeconds: number;
}

/**
 * Counts requests by partner and failed authentications by address, in windows that begin with the first of them.
 * Results known locally are returned synchronously, so most requests do not wait for a promise; a result that needs
 * another process is a promise.
 */
export interface RateLimiter {
  readonly windowSeconds: number;
  /** Counts one request of a partner, with any of its keys. */
  countRequest(partner: Pick<Partner, 'id' | 'name' | 'requestsPerMinute'>): RateLimitResult | Promise<RateLimitResult>;
  /** Counts one failed authentication from an address, IPv6 by /64 network. */
  countFailure(address: string): RateLimitResult | Promise<RateLimitResult>;
}

/**
 * In seconds. Timestamps are fractional, so adding a minute to one and subtracting it again can give slightly more than
 * a minute.
 */
const ROUNDING_SECONDS = 1e-6;

/** The rate limit result of the request counted last. */
export function rateLimitResult(count: number, quota: number, msLeft: number): RateLimitResult {
  return {
    isExceeded: count > quota,
    remaining: Math.max(0, quota - count),
    resetSeconds: Math.max(1, Math.ceil(msLeft / 1000 - ROUNDING_SECONDS)),
  };
}

/** One process's share of a quota while the processes cannot count together: at least one request. */
export function shareOf(quota: number, processes: number): number {
  return Math.max(1, Math.floor(quota / processes));
}

/**
 * Counts by key. The quota is passed with each request because each partner has its own, and it can change within a
 * window.
 */
export class RequestCounts<Key> {
  readonly #windows = new CountingWindows<Key, { endsAtMs: number; count: number }>();
  readonly #windowMs: number;

  constructor(windowSeconds: number) {
    this.#windowMs = windowSeconds * 1000;
  }

  count(key: Key, quota: number): RateLimitResult {
    // Monotonic, because the wall clock can be set back.
    const nowMs = performance.now();
    const window =
      this.#windows.find(key, nowMs) ?? this.#windows.begin(key, { endsAtMs: nowMs + this.#windowMs, count: 0 }, nowMs);
    window.count += 1;
    return rateLimitResult(window.count, quota, window.endsAtMs - nowMs);
  }
}

/** In-memory limits, for a service that runs as a single process. */
export class InMemoryRateLimiter implements RateLimiter {
  readonly windowSeconds: number;
  readonly #requests: RequestCounts<number>;
  readonly #failures: RequestCounts<string>;

  constructor(windowSeconds = WINDOW_SECONDS) {
    this.windowSeconds = windowSeconds;
    this.#requests = new RequestCounts(windowSeconds);
    this.#failures = new RequestCounts(windowSeconds);
  }

  countRequest({ id, requestsPerMinute }: Pick<Partner, 'id' | 'requestsPerMinute'>): RateLimitResult {
    return this.#requests.count(id, requestsPerMinute);
  }

  countFailure(address: string): RateLimitResult {
    return this.#failures.count(networkOf(address), FAILURES_PER_MINUTE);
  }
}
