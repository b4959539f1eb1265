import { once } from 'node:events';
import type { Logger } from 'pino';
import { RateLimiterRedis } from 'rate-limiter-flexible';
import { openRedis, reasonOf } from './redis-connection.ts';
import { SharedRateLimiter } from './shared-rate-limiter.ts';

/** How long a request waits for Redis. */
export const COMMAND_TIMEOUT_MS = 80;

/** How long startup waits for Redis. Startup must not fail because Redis is down. */
const START_TIMEOUT_MS = 1_500;

/**
 * Counts one request. The window is never longer than configured, even if the clock of Redis was set back, and it
 * always expires. A script runs atomically, so each request of a window gets its own number.
 */
export const COUNT = `
local count = redis.call('incrby', KEYS[1], ARGV[1])
local left = redis.call('pttl', KEYS[1])
local window = 1000 * ARGV[2]
if left < 0 or left > window then
  redis.call('pexpire', KEYS[1], window)
  left = window
end
return {count, left}`;

interface RedisRateLimiterOptions {
  readonly redisUrl: string;
  /** Prefix of its Redis keys; see `redisNamespace`. */
  readonly namespace: string;
  readonly windowSeconds: number;
  readonly logger: Pick<Logger, 'info' | 'warn'>;
}

/** Limits shared by any number of processes and hosts. */
export interface RedisRateLimiter {
  readonly limiter: SharedRateLimiter;
  /** Closes the connection. From then on this process counts on its own. */
  readonly close: () => void;
}

/** Starts to count in Redis. Waits until Redis counts or is known not to, but not for long. */
export async function startRedisRateLimiter({
  redisUrl,
  namespace,
  windowSeconds,
  logger,
}: RedisRateLimiterOptions): Promise<RedisRateLimiter> {
  const redis = openRedis(redisUrl, COMMAND_TIMEOUT_MS);
  /** Why the connection is lost; failed commands only report that it is. */
  let lastError: unknown = null;
  const limiter = new SharedRateLimiter({
    limiter: new RateLimiterRedis({
      storeClient: redis,
      keyPrefix: namespace,
      duration: windowSeconds,
      customIncrTtlLuaScript: COUNT,
      points: 0,
    }),
    counter: 'Redis',
    isConnected: () => redis.status === 'ready',
    reasonOf: (error) => reasonOf(lastError ?? error, redisUrl),
    logger,
  });
  redis.on('error', (error: Error & { command?: { name: string } }) => {
    lastError = error;
    // Otherwise the client would continue in the wrong database.
    if (error.command?.name === 'select') redis.disconnect(true);
  });
  await once(redis, 'ready', { signal: AbortSignal.timeout(START_TIMEOUT_MS) }).catch(() => undefined);
  await limiter.count('probe', 1);
  redis.on('close', () => limiter.probe());
  redis.on('ready', () => (lastError = null));
  return {
    limiter,
    close() {
      limiter.close();
      redis.disconnect();
    },
  };
}
