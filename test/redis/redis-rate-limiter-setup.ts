import { EventEmitter, once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { RedisRateLimiter } from '../../src/redis/redis-rate-limiter.ts';
import type { RateLimitResult } from '../../src/http/request-counts.ts';

/** The limits of one process, and its log lines. */
export interface LimitsOfProcess {
  readonly limits: RedisRateLimiter;
  /** The lines as they would be logged. */
  readonly lines: readonly string[];
  /** Resolves once a line with this text is logged after the first `from` lines. */
  readonly said: (text: string, from?: number) => Promise<void>;
}

/** Starts to count as a process does. The caller must close it. */
export async function startLimits(
  redisUrl: string,
  { namespace = 'pds:test', windowSeconds = 60, leastProcesses = 1 } = {},
): Promise<LimitsOfProcess> {
  const lines: string[] = [];
  const events = new EventEmitter();
  const log = (line: unknown, message?: string): void => {
    lines.push(JSON.stringify([message, line]));
    events.emit('line');
  };
  const logger = { info: log, warn: log };
  const limits = new RedisRateLimiter({ redisUrl, namespace, windowSeconds, leastProcesses, logger });
  await limits.start();
  return {
    limits,
    lines,
    said: async (text, from = 0) => {
      while (!lines.slice(from).some((line) => line.includes(text))) await once(events, 'line');
    },
  };
}

export function countRequest(
  limits: RedisRateLimiter,
  id = 1,
  requestsPerMinute = 10,
): RateLimitResult | Promise<RateLimitResult> {
  return limits.countRequest({ id, requestsPerMinute });
}

/** The results of N concurrent requests of one partner, sent to each of the limits in turn. */
export async function countRequests(
  limits: readonly RedisRateLimiter[],
  { times, quota, id }: { times: number; quota: number; id: number },
): Promise<RateLimitResult[]> {
  const asked = Array.from({ length: times }, async (_, index) => {
    const own = limits[index % limits.length];
    if (own === undefined) throw new Error('nobody counts');
    return countRequest(own, id, quota);
  });
  return Promise.all(asked);
}

export const passingOf = (limitResults: readonly RateLimitResult[]): number =>
  limitResults.filter(({ isExceeded }) => !isExceeded).length;

/**
 * Runs a sequence of requests during which all processes count in Redis. If Redis responded too late to one, as happens
 * on a busy machine, it is repeated.
 */
export async function whileShared<T>(
  limits: readonly RedisRateLimiter[],
  course: (attempt: number) => Promise<T>,
): Promise<T> {
  const fallbacks = (): number => limits.reduce((sum, own) => sum + own.fallbacks, 0);
  for (let attempt = 0; attempt < 10; attempt += 1) {
    while (!limits.every(({ isShared }) => isShared)) await delay(20);
    const before = fallbacks();
    const outcome = await course(attempt);
    if (fallbacks() === before) return outcome;
  }
  throw new Error('Redis was never there for long enough');
}
