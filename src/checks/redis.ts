import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import type { Redis } from 'ioredis';
import { inTime } from '../redis/in-time.ts';
import { openRedis, reasonOf, shownRedisUrl } from '../redis/redis-connection.ts';
import { RESPONSE_DEADLINE_MS, COUNT } from '../redis/redis-rate-limiter.ts';
import { ok, fail, warn, type Finding } from './finding.ts';

const about = 'redis';

const TIMEOUT_MS = 2_000;

/** Several, since a new process's first ones take longer. */
const COUNTS = 5;

/** Checks that requests can be counted in Redis, by counting under a name that expires after a second. */
export async function checkRedis(redisUrl: string): Promise<Finding[]> {
  const shown = shownRedisUrl(redisUrl);
  const redis = openRedis(redisUrl);
  let complaint: unknown = null;
  redis.on('error', (error) => (complaint = error));
  try {
    await inTime(once(redis, 'ready'), TIMEOUT_MS);
    const tookMs = await count(redis);
    const message = `${shown} counts, in ${tookMs.toFixed(1)} ms`;
    const speed =
      tookMs < RESPONSE_DEADLINE_MS / 2
        ? ok(about, message)
        : warn(about, message, `bring it nearer: requests are counted without it after ${RESPONSE_DEADLINE_MS} ms`);
    return [speed, ...(await checkEvictions(redis, shown))];
  } catch (error) {
    const message = `${shown} does not count: ${reasonOf(complaint ?? error, redisUrl)}`;
    const advice =
      'is it running, and PDS_REDIS_URL right (host, user, password, number of the database)? May its user do what the ' +
      "operator's guide lists? Until then each process counts by itself, up to its share of each limit";
    return [fail(about, message, advice)];
  } finally {
    redis.disconnect();
  }
}

/** The shortest of several counts, in milliseconds. */
async function count(redis: Redis): Promise<number> {
  const key = `pds:check:${randomUUID()}`;
  let shortestMs = Infinity;
  for (let number = 0; number < COUNTS; number++) {
    const startedMs = performance.now();
    await inTime(redis.eval(COUNT, 1, key, 1, 1), TIMEOUT_MS);
    shortestMs = Math.min(shortestMs, performance.now() - startedMs);
  }
  return shortestMs;
}

/** Reports evicted counters. Skipped if the Redis user cannot run INFO. */
async function checkEvictions(redis: Redis, shown: string): Promise<Finding[]> {
  const text = await inTime(redis.info('stats'), TIMEOUT_MS).catch(() => '');
  const evicted = Number(/^evicted_keys:(\d+)/m.exec(text)?.[1] ?? 0);
  if (evicted === 0) return [];
  const message = `${shown} has thrown out ${evicted} keys for want of room since it was started`;
  return [
    warn(
      about,
      message,
      'give it more "maxmemory", or for itself: partners get more than their limit where counts are lost',
    ),
  ];
}
