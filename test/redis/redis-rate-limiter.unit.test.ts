import { Redis } from 'ioredis';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect } from 'vitest';
import { FAILURES_PER_MINUTE } from '../../src/http/request-counts.ts';
import { redisNamespace } from '../../src/redis/namespace.ts';
import { ProcessCount } from '../../src/redis/process-count.ts';
import type { RedisRateLimiter } from '../../src/redis/redis-rate-limiter.ts';
import { testWith } from '../support/installed-programs.ts';
import { startRedis, type RedisServer } from '../support/redis-server.ts';
import {
  countRequest,
  countRequests,
  passingOf,
  startLimits,
  whileShared,
  type LimitsOfProcess,
} from './redis-rate-limiter-setup.ts';

const test = testWith('redis');

let redis: RedisServer;
let client: Redis;
beforeAll(async () => {
  redis = await startRedis();
  client = new Redis(redis.url);
});
afterAll(async () => {
  client.disconnect();
  await redis.close();
});

const started: LimitsOfProcess[] = [];
beforeEach(() => client.flushall());
afterEach(async () => {
  await Promise.all(started.splice(0).map(({ limits }) => limits.close()));
});

async function start(options: Parameters<typeof startLimits>[1] = {}): Promise<RedisRateLimiter> {
  const own = await startLimits(redis.url, options);
  started.push(own);
  return own.limits;
}

describe('limits in Redis', () => {
  test('let exactly the quota pass, over all that count there, and give each request a number of its own', async () => {
    const all = await Promise.all(Array.from({ length: 5 }, () => start()));
    for (const quota of [1, 60, 250]) {
      const limitResults = await whileShared(all, (attempt) =>
        countRequests(all, { times: 400, quota, id: 1_000 * attempt + quota }),
      );
      expect(passingOf(limitResults)).toBe(quota);
      const remaining = limitResults
        .filter(({ isExceeded }) => !isExceeded)
        .map((limitResult) => limitResult.remaining);
      expect(new Set(remaining)).toEqual(new Set(Array.from({ length: quota }, (_, index) => index)));
    }
  });

  test('say when the window ends, and let requests pass again from then on', async () => {
    const [first, second] = [await start({ windowSeconds: 2 }), await start({ windowSeconds: 2 })];
    expect(await countRequest(first, 1, 1)).toEqual({ isExceeded: false, remaining: 0, resetSeconds: 2 });
    const refused = await countRequest(second, 1, 1);
    expect(refused.isExceeded).toBe(true);
    expect([1, 2]).toContain(refused.resetSeconds);
    await delay(1_000 * refused.resetSeconds);
    expect((await countRequest(second, 1, 1)).isExceeded).toBe(false);
  });

  test('follow a quota that is changed within the window', async () => {
    const limits = await start();
    const passing = await whileShared([limits], async (id) => [
      passingOf(await countRequests([limits], { times: 10, quota: 4, id })),
      passingOf(await countRequests([limits], { times: 10, quota: 15, id })),
    ]);
    expect(passing).toEqual([4, 5]);
  });

  test('count failed authentications by network, for all together', async () => {
    const [first, second] = [await start(), await start()];
    for (let count = 1; count <= FAILURES_PER_MINUTE; count += 1) {
      const limits = count % 2 === 0 ? first : second;
      expect((await limits.countFailure(`2001:db8:1:2::${count.toString(16)}`)).isExceeded).toBe(false);
    }
    expect((await first.countFailure('2001:db8:1:2:ffff::1')).isExceeded).toBe(true);
    expect((await first.countFailure('2001:db8:1:3::1')).isExceeded).toBe(false);
  });

  test('never last longer than a window, even if the clock of Redis was set back', async () => {
    const limits = await start();
    await countRequest(limits);
    const [key] = await client.keys('pds:test:partner:*');
    // The effect of a clock set back by an hour.
    await client.pexpire(String(key), 3_660_000);
    expect((await countRequest(limits)).resetSeconds).toBe(60);
    await client.persist(String(key));
    expect((await countRequest(limits)).resetSeconds).toBe(60);
    expect(await client.pttl(String(key))).toBeLessThanOrEqual(60_000);
  });

  test('are not given up by a process that was itself too busy to read the answer', async () => {
    const limits = await start();
    const { fallbacks } = limits;
    const asked = countRequest(limits);
    const busyUntilMs = performance.now() + 400;
    while (performance.now() < busyUntilMs);
    expect(await asked).toMatchObject({ remaining: 9 });
    expect(limits.fallbacks).toBe(fallbacks);
  });

  test('leave nothing behind in Redis that does not end by itself', async () => {
    const limits = await start();
    await countRequest(limits);
    await limits.countFailure('192.0.2.1');
    const keys = await client.keys('*');
    expect(keys.sort()).toEqual(['pds:test:failures:192.0.2.1', 'pds:test:partner:1', 'pds:test:processes']);
    for (const key of keys) expect(await client.pttl(key)).toBeGreaterThan(0);
  });

  test('are not shared by two installations, nor by two environments of one', async () => {
    const secrets = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)] as const;
    const namespaces = [
      redisNamespace(secrets[0], 'production'),
      redisNamespace(secrets[1], 'production'),
      redisNamespace(secrets[0], 'uat'),
    ];
    expect(redisNamespace(secrets[0], 'production')).toBe(namespaces[0]);
    expect(namespaces[0]).toMatch(/^pds:[\w-]{16}$/);
    for (const namespace of namespaces) {
      const limits = await start({ namespace });
      const limitResults = await whileShared([limits], (id) => countRequests([limits], { times: 8, quota: 3, id }));
      expect(passingOf(limitResults)).toBe(3);
      expect(limits.processes).toBe(1);
    }
  });
});

describe('how many processes there are', () => {
  const known = (counts: readonly ProcessCount[]): number[] => counts.map((count) => count.known);

  test('is what they hear of each other', async () => {
    const counts = Array.from({ length: 3 }, () => new ProcessCount(client, 'pds:test', 1));
    for (const count of counts) await count.beat();
    await counts[0]?.beat();
    expect(known(counts)).toEqual([3, 2, 3]);
  });

  test('is never less than were started together', async () => {
    const count = new ProcessCount(client, 'pds:test', 4);
    expect(count.known).toBe(4);
    await count.beat();
    expect(count.known).toBe(4);
  });

  test('is less only when it has been less for as long as one may be silent', async () => {
    let nowMs = 0;
    const stays = new ProcessCount(client, 'pds:test', 1, () => nowMs);
    const goes = new ProcessCount(client, 'pds:test', 1);
    await goes.beat();
    await stays.beat();
    await client.flushall();
    for (const [atMs, expected] of [
      [1_000, 2],
      [5_900, 2],
      [6_000, 1],
    ] as const) {
      nowMs = atMs;
      await stays.beat();
      expect(stays.known).toBe(expected);
    }
    await goes.beat();
    await stays.beat();
    expect(stays.known).toBe(2);
    await goes.leave();
    nowMs = 7_000;
    await stays.beat();
    // While Redis was down, no heartbeats arrived.
    stays.lose();
    nowMs = 20_000;
    await stays.beat();
    expect(stays.known).toBe(2);
  });

  test('does not hold those who said nothing for five seconds', async () => {
    const gone = new ProcessCount(client, 'pds:test', 1);
    const here = new ProcessCount(client, 'pds:test', 1);
    await gone.beat();
    const [member] = await client.zrange('pds:test:processes', '0', '-1');
    await client.zincrby('pds:test:processes', -5_001, String(member));
    await here.beat();
    expect(here.known).toBe(1);
  });
});
