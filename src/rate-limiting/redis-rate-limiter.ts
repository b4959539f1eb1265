import { once } from 'node:events';
import type { Logger } from 'pino';
import { SharedRateLimiter } from './shared-rate-limiter.ts';
import { Redis } from 'ioredis';
import { createHmac } from 'node:crypto';
import type { Environment } from '../config.ts';

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
  // Sends the script once, and then its digest.
  redis.defineCommand('countUnits', { numberOfKeys: 1, lua: COUNT });
  /** Why the connection is lost; failed commands only report that it is. */
  let lastError: unknown = null;
  const counting = redis as Redis & { countUnits(...args: unknown[]): Promise<[number, number]> };
  const limiter = new SharedRateLimiter({
    windowSeconds,
    countForAll: (key, units) => counting.countUnits(`${namespace}:${key}`, units, windowSeconds),
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

/** Timeout for connecting and for silence on a connection; after it, a new connection is opened. */
const SILENCE_MS = 1_000;

/** The pause before reconnecting, randomized so that processes do not all reconnect at the same time. */
const RECONNECT_MS = { min: 150, max: 400 };

/**
 * Opens a connection that reconnects forever. A command that cannot be sent immediately fails, and so does one without
 * a response when the connection is lost: resending it would count a request twice.
 *
 * With `redis+sentinel://HOST,HOST:PORT/NAME`, Sentinel on these hosts names the primary.
 *
 * The caller must listen for 'error', must expose its errors only through `reasonOf`, and must disconnect in the end.
 */
export function openRedis(redisUrl: string, commandTimeoutMs: number): Redis {
  const { protocol, hostname, port, username, password, pathname } = new URL(redisUrl);
  const path = pathname.slice(1).split('/');
  const isSentinel = protocol === 'redis+sentinel:';
  const reconnectMs = (): number => RECONNECT_MS.min + Math.random() * (RECONNECT_MS.max - RECONNECT_MS.min);
  return new Redis({
    ...(isSentinel
      ? {
          sentinels: hostname.split(',').map((host) => ({ host, port: Number(port || 26379) })),
          name: path.shift() ?? '',
          sentinelCommandTimeout: SILENCE_MS,
          sentinelRetryStrategy: reconnectMs,
        }
      : { host: hostname.replace(/^\[|\]$/g, ''), port: Number(port || 6379) }),
    ...(username !== '' && { username: decodeURIComponent(username) }),
    ...(password !== '' && { password: decodeURIComponent(password) }),
    db: Number(path[0] ?? 0),
    // Node's trusted CAs verify the certificate, and its name must match the host.
    ...(protocol === 'rediss:' && { tls: {} }),
    connectionName: 'pds',
    disableClientInfo: true,
    // The ready check needs permission for INFO. Using Redis shows whether it is usable.
    enableReadyCheck: false,
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    commandTimeout: commandTimeoutMs,
    connectTimeout: SILENCE_MS,
    socketTimeout: SILENCE_MS,
    retryStrategy: reconnectMs,
    // After a failover the host name, or Sentinel, can lead to the new primary, which only a new connection reaches.
    // (The client's own detector of failovers ends it for good if one is reported while it connects.)
    reconnectOnError: ({ message }) => message.includes('READONLY'),
  });
}

/**
 * The reason for a failure, safe to log. The client's own errors are not: they carry the command with its arguments,
 * which for AUTH include the password. Redis also repeats the arguments of unknown commands.
 */
export function reasonOf(error: unknown, redisUrl: string): string {
  if (!(error instanceof Error)) return 'unknown';
  // If a host name has several addresses, Node reports one error per address and an empty message.
  const [first] = error instanceof AggregateError ? (error.errors as unknown[]) : [error];
  const message = first instanceof Error ? first.message : error.message;
  const { username, password } = new URL(redisUrl);
  let reason = message.replace(/,? with args beginning with.*/s, '');
  for (const secret of [password, decodeURIComponent(password), username, decodeURIComponent(username)]) {
    if (secret !== '') reason = reason.replaceAll(secret, '…');
  }
  return reason || error.name;
}

/**
 * The prefix of all our Redis keys: `pds:` and a token shared by all processes of one installation and by no other.
 * Partner IDs start at 1 in each installation, so two installations on one Redis would otherwise count each other's
 * requests. The token is an HMAC of the environment with the cursor secret, which it does not reveal. The environment
 * is included because a test installation is often a copy of production, secret included.
 */
export function redisNamespace(cursorSecret: Buffer, environment: Environment): string {
  const token = createHmac('sha256', cursorSecret).update(`redis ${environment}`).digest('base64url');
  return `pds:${token.slice(0, 16)}`;
}
