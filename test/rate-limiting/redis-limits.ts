import { EventEmitter, once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import type { RateLimiter, RateLimitResult } from '../../src/rate-limiting/request-limits.ts';
import { RedisRateLimiter } from '../../src/rate-limiting/redis-rate-limiter.ts';

/** The rate limiter of one process, and its log lines. */
export interface LimiterOfProcess {
  readonly limiter: RedisRateLimiter;
  readonly close: () => void;
  /** The lines as they would be logged. */
  readonly lines: readonly string[];
  /** Resolves once a line with this text is logged after the first `from` lines. */
  readonly logged: (text: string, from?: number) => Promise<void>;
}

/** Starts to count as a process does. The caller must close it. */
export async function startRedisLimiter(
  redisUrl: string,
  { namespace = 'pds:test', windowSeconds = 60 } = {},
): Promise<LimiterOfProcess> {
  const lines: string[] = [];
  const events = new EventEmitter();
  const log = (line: unknown, message?: string): void => {
    lines.push(JSON.stringify([message, line]));
    events.emit('line');
  };
  const logger = { info: log, warn: log };
  const limiter = await RedisRateLimiter.start({ redisUrl, namespace, windowSeconds, logger });
  return {
    limiter,
    close: () => limiter.close(),
    lines,
    logged: async (text, from = 0) => {
      while (!lines.slice(from).some((line) => line.includes(text))) await once(events, 'line');
    },
  };
}

export function countRequest(
  limiter: RateLimiter,
  key = 'partner:1',
  quota = 10,
): RateLimitResult | Promise<RateLimitResult> {
  return limiter.count(key, quota);
}

/** The results of N concurrent requests of one key, sent to each of the limiters in turn. */
export async function countRequests(
  limiters: readonly RateLimiter[],
  { times, quota, key }: { times: number; quota: number; key: string },
): Promise<RateLimitResult[]> {
  const counted = Array.from({ length: times }, async (_, index) => {
    const limiter = limiters[index % limiters.length];
    if (limiter === undefined) throw new Error('there is no rate limiter');
    return limiter.count(key, quota);
  });
  return Promise.all(counted);
}

/** The number of requests that passed. */
export const passedOf = (limitResults: readonly RateLimitResult[]): number =>
  limitResults.filter(({ isExceeded }) => !isExceeded).length;

/**
 * Runs a course of requests during which all processes count in Redis. If Redis responded too late to one, as happens
 * on a busy machine, it is repeated.
 */
export async function whileShared<T>(
  limiters: readonly RedisRateLimiter[],
  course: (attempt: number) => Promise<T>,
): Promise<T> {
  const fallbacks = (): number => limiters.reduce((sum, limiter) => sum + limiter.fallbacks, 0);
  for (let attempt = 0; attempt < 10; attempt += 1) {
    while (!limiters.every(({ isShared }) => isShared)) await delay(20);
    const before = fallbacks();
    // A course whose expectations failed because Redis was lost is repeated too.
    const [outcome] = await Promise.allSettled([course(attempt)]);
    if (fallbacks() > before) continue;
    if (outcome.status === 'rejected') throw outcome.reason;
    return outcome.value;
  }
  throw new Error('Redis was never available for long enough');
}
