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
 * Counts requests by key, in fixed windows that begin with the first request of the key. Exceeded requests count too.
 *
 * One interface, three implementations: `InMemoryRateLimiter` for a single process, `WorkerRateLimiter` for the workers
 * of one primary process, `RedisRateLimiter` for any number of processes and hosts. `test/rate-limiting` runs one suite
 * against all of them. None of them fails: one that cannot reach what it counts with counts by itself, up to this
 * process's share of each quota.
 */
export interface RateLimiter {
  readonly windowSeconds: number;
  /**
   * Counts one request. A result that is known in this process is returned synchronously.
   *
   * @param quota requests per window. Each partner has its own, and it can change within a window.
   */
  count(key: string, quota: number): RateLimitResult | Promise<RateLimitResult>;
  /**
   * Counts a request that is within the quota, if this process can tell. If not, counts nothing and returns null: then
   * `count` decides.
   */
  tryCount(key: string, quota: number): RateLimitResult | null;
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
