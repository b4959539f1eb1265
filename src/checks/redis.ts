import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import type { Redis } from 'ioredis';
import { openRedis, reasonOf, COMMAND_TIMEOUT_MS, COUNT } from '../rate-limiting/redis-rate-limiter.ts';
import { ok, fail, warn, type Finding } from './finding.ts';
import { displayUrlOf } from '../printable.ts';

const about = 'redis';

const TIMEOUT_MS = 2_000;

/** Several, since a new process's first ones take longer. */
const COUNTS = 5;

/** Checks that requests can be counted in Redis, by counting under a name that expires after a second. */
export async function checkRedis(redisUrl: string): Promise<Finding[]> {
  const displayUrl = displayUrlOf(redisUrl);
  const redis = openRedis(redisUrl, TIMEOUT_MS);
  let connectionError: unknown = null;
  redis.on('error', (error) => (connectionError = error));
  try {
    await once(redis, 'ready', { signal: AbortSignal.timeout(TIMEOUT_MS) });
    const tookMs = await count(redis);
    const message = `${displayUrl} counts requests in ${tookMs.toFixed(1)} ms`;
    const speed =
      tookMs < COMMAND_TIMEOUT_MS / 2
        ? ok(about, message)
        : warn(about, message, `Move Redis closer: requests are counted without it after ${COMMAND_TIMEOUT_MS} ms.`);
    return [speed, ...(await checkEvictions(redis, displayUrl))];
  } catch (error) {
    const message = `${displayUrl} cannot count requests: ${reasonOf(connectionError ?? error, redisUrl)}`;
    const advice =
      'Check that Redis is running, PDS_REDIS_URL (host, user, password, database number), and the permissions of its ' +
      'user (docs/operators/several-machines.md). Until it is fixed, each process counts on its own, up to the full limit.';
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
    await redis.eval(COUNT, 1, key, 1, 1);
    shortestMs = Math.min(shortestMs, performance.now() - startedMs);
  }
  return shortestMs;
}

/** Reports evicted counters. Skipped if the Redis user cannot run INFO. */
async function checkEvictions(redis: Redis, displayUrl: string): Promise<Finding[]> {
  const text = await redis.info('stats').catch(() => '');
  const evicted = Number(/^evicted_keys:(\d+)/m.exec(text)?.[1] ?? 0);
  if (evicted === 0) return [];
  const message = `${displayUrl} has evicted ${evicted} keys for lack of memory since it started`;
  return [
    warn(about, message, 'Raise "maxmemory", or use a separate Redis: lost counters let partners exceed their limits.'),
  ];
}
