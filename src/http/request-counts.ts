import type { Partner } from '../access/scope.ts';
import { networkOf } from './address-network.ts';
import { CountingWindows } from './counting-windows.ts';

/** Failed authentications a minute from one address, after which they are answered with 429. */
export const FAILURES_PER_MINUTE = 60;

/** How long requests are counted together. */
export const WINDOW_SECONDS = 60;

/** Where a count stands after one more. */
export interface Allowance {
  readonly isExceeded: boolean;
  readonly remaining: number;
  /** Whole seconds until the count begins anew, at least 1. */
  readonly resetSeconds: number;
}

/**
 * Counts requests by partner and failed authentications by address, in windows that begin with
 * the first of them. What is known at once is returned at once, so that the many requests for
 * which it is need not wait for a promise; what has to be asked of another process comes as one.
 */
export interface RequestLimits {
  readonly windowSeconds: number;
  /** Counts one request of a partner, whichever of its keys it came with. */
  countRequest(partner: Pick<Partner, 'id' | 'name' | 'requestsPerMinute'>): Allowance | Promise<Allowance>;
  /** Counts one failed authentication from an address, IPv6 by /64 network. */
  countFailure(address: string): Allowance | Promise<Allowance>;
}

/** Seconds: clocks count in fractions, and a minute after any of them, less that, may come to a little more than a minute. */
const ROUNDING_SECONDS = 1e-6;

/** What a count means for the request that was counted last. */
export function allowanceOf(count: number, quota: number, msLeft: number): Allowance {
  return {
    isExceeded: count > quota,
    remaining: Math.max(0, quota - count),
    resetSeconds: Math.max(1, Math.ceil(msLeft / 1000 - ROUNDING_SECONDS)),
  };
}

/** What one of several processes lets pass while they cannot count together: at least one request. */
export function shareOf(quota: number, processes: number): number {
  return Math.max(1, Math.floor(quota / processes));
}

/**
 * Counts by key. The quota comes with each request: every partner has its own, and it may
 * change within a window.
 */
export class RequestCounts<Key> {
  readonly #windows = new CountingWindows<Key, { endsAtMs: number; count: number }>();
  readonly #windowMs: number;

  constructor(windowSeconds: number) {
    this.#windowMs = windowSeconds * 1000;
  }

  count(key: Key, quota: number): Allowance {
    // Not the time of day, which may be set back.
    const nowMs = performance.now();
    const window =
      this.#windows.find(key, nowMs) ?? this.#windows.begin(key, { endsAtMs: nowMs + this.#windowMs, count: 0 }, nowMs);
    window.count += 1;
    return allowanceOf(window.count, quota, window.endsAtMs - nowMs);
  }
}

/** The limits where one process answers all requests: counted in its memory. */
export class OwnRequestLimits implements RequestLimits {
  readonly windowSeconds: number;
  readonly #requests: RequestCounts<number>;
  readonly #failures: RequestCounts<string>;

  constructor(windowSeconds = WINDOW_SECONDS) {
    this.windowSeconds = windowSeconds;
    this.#requests = new RequestCounts(windowSeconds);
    this.#failures = new RequestCounts(windowSeconds);
  }

  countRequest({ id, requestsPerMinute }: Pick<Partner, 'id' | 'requestsPerMinute'>): Allowance {
    return this.#requests.count(id, requestsPerMinute);
  }

  countFailure(address: string): Allowance {
    return this.#failures.count(networkOf(address), FAILURES_PER_MINUTE);
  }
}
