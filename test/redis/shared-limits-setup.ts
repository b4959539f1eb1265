import { EventEmitter, once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { SharedLimits } from '../../src/redis/shared-limits.ts';
import type { Allowance } from '../../src/http/request-counts.ts';

/** The limits as one process has them, and all that it said. */
export interface LimitsOfProcess {
  readonly limits: SharedLimits;
  /** Each as it would stand in the log. */
  readonly lines: readonly string[];
  /** Resolves once a line with this text was said after the first `from` of them. */
  readonly said: (text: string, from?: number) => Promise<void>;
}

/** Starts to count, as a process does. Whoever starts it closes it. */
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
  const limits = new SharedLimits({ redisUrl, namespace, windowSeconds, leastProcesses, logger });
  await limits.start();
  return {
    limits,
    lines,
    said: async (text, from = 0) => {
      while (!lines.slice(from).some((line) => line.includes(text))) await once(events, 'line');
    },
  };
}

export function countRequest(limits: SharedLimits, id = 1, requestsPerMinute = 10): Allowance | Promise<Allowance> {
  return limits.countRequest({ id, requestsPerMinute });
}

/** What so many requests of one partner at once are told, asked of all in turn. */
export async function countRequests(
  limits: readonly SharedLimits[],
  { times, quota, id }: { times: number; quota: number; id: number },
): Promise<Allowance[]> {
  const asked = Array.from({ length: times }, async (_, index) => {
    const own = limits[index % limits.length];
    if (own === undefined) throw new Error('nobody counts');
    return countRequest(own, id, quota);
  });
  return Promise.all(asked);
}

export const passingOf = (allowances: readonly Allowance[]): number =>
  allowances.filter(({ isExceeded }) => !isExceeded).length;

/**
 * What comes of a course of requests, from beginning to end of which all count in Redis. A busy
 * machine may hold Redis up for longer than a request waits: then it is tried again.
 */
export async function whileShared<T>(
  limits: readonly SharedLimits[],
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
