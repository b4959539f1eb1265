import { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect } from 'vitest';
import { ProcessCount } from '../../src/rate-limiting/process-count.ts';
import { redisNamespace } from '../../src/rate-limiting/redis-connection.ts';
import type { RedisRateLimiter } from '../../src/rate-limiting/redis-rate-limiter.ts';
import { testWith } from '../support/installed-programs.ts';
import { startRedis, type RedisServer } from '../support/redis/redis-server.ts';
import { countRequest, countRequests, passedOf, startRedisLimiter, whileShared } from './redis-limits.ts';

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

const started: RedisRateLimiter[] = [];
beforeEach(() => client.flushall());
afterEach(async () => {
  await Promise.all(started.splice(0).map((limiter) => limiter.close()));
});

async function start(options: Parameters<typeof startRedisLimiter>[1] = {}): Promise<RedisRateLimiter> {
  const { limiter } = await startRedisLimiter(redis.url, options);
  started.push(limiter);
  return limiter;
}

describe('limits in Redis', () => {
  test('end with their window, even if the clock of Redis was set back', async () => {
    const limiter = await start();
    await countRequest(limiter);
    const [key] = await client.keys('pds:test:partner:*');
    // The effect of a clock set back by an hour.
    await client.pexpire(String(key), 3_660_000);
    expect((await countRequest(limiter)).resetSeconds).toBe(60);
    await client.persist(String(key));
    expect((await countRequest(limiter)).resetSeconds).toBe(60);
    expect(await client.pttl(String(key))).toBeLessThanOrEqual(60_000);
  });

  test('survive a process that was itself too busy to read the response', async () => {
    const limiter = await start();
    const { fallbacks } = limiter;
    const counted = countRequest(limiter);
    const busyUntilMs = performance.now() + 400;
    while (performance.now() < busyUntilMs);
    expect(await counted).toMatchObject({ remaining: 9 });
    expect(limiter.fallbacks).toBe(fallbacks);
  });

  test('leave only keys in Redis that expire', async () => {
    const limiter = await start();
    await countRequest(limiter);
    const keys = await client.keys('*');
    expect(keys.sort()).toEqual(['pds:test:partner:1', 'pds:test:processes']);
    for (const key of keys) expect(await client.pttl(key)).toBeGreaterThan(0);
  });

  test('are separate for two installations, and for two environments of one', async () => {
    const secrets = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)] as const;
    const namespaces = [
      redisNamespace(secrets[0], 'production'),
      redisNamespace(secrets[1], 'production'),
      redisNamespace(secrets[0], 'uat'),
    ];
    expect(redisNamespace(secrets[0], 'production')).toBe(namespaces[0]);
    expect(namespaces[0]).toMatch(/^pds:[\w-]{16}$/);
    for (const namespace of namespaces) {
      const limiter = await start({ namespace });
      const limitResults = await whileShared([limiter], (attempt) =>
        countRequests([limiter], { times: 8, quota: 3, key: `partner:${attempt}` }),
      );
      expect(passedOf(limitResults)).toBe(3);
      expect(limiter.processes).toBe(1);
    }
  });
});

describe('the number of processes', () => {
  const known = (counts: readonly ProcessCount[]): number[] => counts.map((count) => count.known);

  test('is known to each of them from their heartbeats', async () => {
    const counts = Array.from({ length: 3 }, () => new ProcessCount(client, 'pds:test', 1));
    for (const count of counts) await count.beat();
    await counts[0]?.beat();
    expect(known(counts)).toEqual([3, 2, 3]);
  });

  test('is at least the number that were started together', async () => {
    const count = new ProcessCount(client, 'pds:test', 4);
    expect(count.known).toBe(4);
    await count.beat();
    expect(count.known).toBe(4);
  });

  test('decreases only after it has been lower for as long as a process can be silent', async () => {
    let nowMs = 0;
    const staying = new ProcessCount(client, 'pds:test', 1, () => nowMs);
    const leaving = new ProcessCount(client, 'pds:test', 1);
    await leaving.beat();
    await staying.beat();
    await client.flushall();
    for (const [atMs, expected] of [
      [1_000, 2],
      [5_900, 2],
      [6_000, 1],
    ] as const) {
      nowMs = atMs;
      await staying.beat();
      expect(staying.known).toBe(expected);
    }
    await leaving.beat();
    await staying.beat();
    expect(staying.known).toBe(2);
    await leaving.leave();
    nowMs = 7_000;
    await staying.beat();
    // While Redis was down, no heartbeats arrived.
    staying.lose();
    nowMs = 20_000;
    await staying.beat();
    expect(staying.known).toBe(2);
  });

  test('excludes processes that have been silent for five seconds', async () => {
    const gone = new ProcessCount(client, 'pds:test', 1);
    const here = new ProcessCount(client, 'pds:test', 1);
    await gone.beat();
    const [member] = await client.zrange('pds:test:processes', '0', '-1');
    await client.zincrby('pds:test:processes', -5_001, String(member));
    await here.beat();
    expect(here.known).toBe(1);
  });
});
