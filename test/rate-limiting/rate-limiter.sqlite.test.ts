import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import {
  InMemoryRateLimiter,
  FAILURES_PER_MINUTE,
  type RateLimiter,
  type RateLimitResult,
  RequestLimits,
} from '../../src/rate-limiting/request-limits.ts';
import { isInstalled } from '../support/installed-programs.ts';
import { forEachTest } from '../support/lifetimes.ts';
import { startRedis, type RedisServer } from '../support/redis/redis-server.ts';
import { countRequests, passedOf, startRedisLimiter, whileShared } from './redis-limits.ts';

/** The rate limiters of processes that count together. */
interface Installation {
  readonly limiters: readonly RateLimiter[];
  /** Runs a course of requests, and again with another attempt number if the counter was lost meanwhile. */
  readonly run: <T>(course: (attempt: number) => Promise<T>) => Promise<T>;
  readonly close: () => Promise<void>;
}

interface Implementation {
  readonly name: string;
  readonly isSkipped?: boolean;
  readonly start: (windowSeconds: number) => Promise<Installation>;
}

const PROCESSES = 5;

let redis: RedisServer | null = null;
beforeAll(async () => {
  if (isInstalled('redis')) redis = await startRedis();
});
afterAll(() => redis?.close());

let namespaces = 0;

const IMPLEMENTATIONS: readonly Implementation[] = [
  {
    name: 'InMemoryRateLimiter',
    start: async (windowSeconds) => ({
      limiters: [new InMemoryRateLimiter(windowSeconds)],
      run: (course) => course(0),
      close: async () => undefined,
    }),
  },
  {
    name: 'RedisRateLimiter',
    isSkipped: !isInstalled('redis'),
    async start(windowSeconds) {
      namespaces += 1;
      const options = { namespace: `pds:test-${namespaces}`, windowSeconds };
      const url = redis?.url ?? '';
      const started = await Promise.all(Array.from({ length: PROCESSES }, () => startRedisLimiter(url, options)));
      const limiters = started.map(({ limiter }) => limiter);
      return {
        limiters,
        run: (course) => whileShared(limiters, course),
        close: async () => started.forEach(({ close }) => close()),
      };
    },
  },
];

describe.each(IMPLEMENTATIONS)('$name', ({ isSkipped = false, start }) => {
  const installation = forEachTest(() => start(60));

  test.skipIf(isSkipped)('accepts exactly the quota over all processes, and numbers the requests', async () => {
    const { limiters, run } = installation;
    for (const quota of [1, 60, 250]) {
      const limitResults = await run((attempt) =>
        countRequests(limiters, { times: 400, quota, key: `even:${quota}:${attempt}` }),
      );
      expect(passedOf(limitResults)).toBe(quota);
      const remaining = limitResults.filter(({ isExceeded }) => !isExceeded).map((result) => result.remaining);
      expect(new Set(remaining)).toEqual(new Set(Array.from({ length: quota }, (_, index) => index)));
    }
  });

  test.skipIf(isSkipped)('accepts exactly the quota however unevenly requests are spread', async () => {
    const { limiters, run } = installation;
    const uneven = [...Array.from({ length: 20 }, () => limiters.slice(0, 1)), limiters].flat();
    const limitResults = await run((attempt) =>
      countRequests(uneven, { times: 300, quota: 100, key: `uneven:${attempt}` }),
    );
    expect(passedOf(limitResults)).toBe(100);
  });

  test.skipIf(isSkipped)('counts one request after the other as a single counter does', async () => {
    const { limiters, run } = installation;
    const remaining = await run(async (attempt) => {
      const results: RateLimitResult[] = [];
      const limit = { times: 1, quota: 6, key: `one:${attempt}` };
      for (let times = 0; times < 8; times += 1)
        results.push(...(await countRequests(limiters.slice(times % limiters.length), limit)));
      return results.map((result) => [result.isExceeded, result.remaining]);
    });
    expect(remaining).toEqual([...[5, 4, 3, 2, 1, 0].map((left) => [false, left]), [true, 0], [true, 0]]);
  });

  test.skipIf(isSkipped)('reports when the window ends, and accepts requests again from then on', async () => {
    const { limiters, run, close } = await start(1);
    onTestFinished(close);
    await run(async (attempt) => {
      const limit = { times: 1, quota: 1, key: `window:${attempt}` };
      expect(await countRequests(limiters, limit)).toEqual([{ isExceeded: false, remaining: 0, resetSeconds: 1 }]);
      expect(await countRequests(limiters, limit)).toEqual([{ isExceeded: true, remaining: 0, resetSeconds: 1 }]);
      await delay(1_010);
      expect(await countRequests(limiters, limit)).toMatchObject([{ isExceeded: false }]);
    });
  });

  test.skipIf(isSkipped)('applies a changed quota within the window; refused requests have been counted', async () => {
    const { limiters, run } = installation;
    const passed = await run(async (attempt) => {
      const counts: number[] = [];
      for (const quota of [4, 15, 2, 40]) {
        counts.push(passedOf(await countRequests(limiters, { times: 10, quota, key: `quota:${attempt}` })));
      }
      return counts;
    });
    expect(passed).toEqual([4, 5, 0, 10]);
  });

  test.skipIf(isSkipped)('counts partners separately, and failed authentications by network', async () => {
    const { limiters, run } = installation;
    const processes = limiters.map((limiter) => new RequestLimits(limiter));
    await run(async (attempt) => {
      const network = `2001:db8:${attempt}:2`;
      for (let count = 1; count <= FAILURES_PER_MINUTE; count += 1) {
        const limits = processes[count % processes.length];
        expect((await limits?.countFailure(`${network}::${count.toString(16)}`))?.isExceeded).toBe(false);
      }
      expect((await processes[0]?.countFailure(`${network}:ffff::1`))?.isExceeded).toBe(true);
      expect((await processes[0]?.countFailure(`2001:db8:${attempt}:3::1`))?.isExceeded).toBe(false);
      const acme = { id: 100 + 2 * attempt, name: 'x', requestsPerMinute: 1 };
      const other = { ...acme, id: acme.id + 1 };
      expect((await processes[0]?.countRequest(acme))?.isExceeded).toBe(false);
      expect((await processes[0]?.countRequest(other))?.isExceeded).toBe(false);
      expect((await processes[0]?.countRequest(acme))?.isExceeded).toBe(true);
    });
  });
});
