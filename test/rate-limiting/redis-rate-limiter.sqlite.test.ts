import { Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished } from 'vitest';
import { redisNamespace, type RedisRateLimiter } from '../../src/rate-limiting/redis-rate-limiter.ts';
import { testWith } from '../support/installed-programs.ts';
import { forAllTests } from '../support/lifetimes.ts';
import { startRedis } from '../support/redis/redis-server.ts';
import { countRequest, countRequests, passedOf, startRedisLimiter, whileShared } from './redis-limits.ts';

const test = testWith('redis');

let client: Redis;
const redis = forAllTests(startRedis);
beforeAll(() => {
  client = new Redis(redis.url);
});
afterAll(() => client.disconnect());

beforeEach(() => client.flushall());

async function start(options: Parameters<typeof startRedisLimiter>[1] = {}): Promise<RedisRateLimiter> {
  const { limiter, close } = await startRedisLimiter(redis.url, options);
  onTestFinished(close);
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

  test('count a request in this process if it was too busy to read the response in time', async () => {
    const limiter = await start();
    const counted = countRequest(limiter);
    const busyUntilMs = performance.now() + 400;
    while (performance.now() < busyUntilMs);
    expect(await counted).toMatchObject({ isExceeded: false, remaining: 9 });
  });

  test('leave only keys in Redis that expire', async () => {
    const limiter = await start();
    await countRequest(limiter);
    const keys = await client.keys('*');
    expect(keys.sort()).toEqual(['pds:test:partner:1', 'pds:test:probe']);
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
    }
  });
});
