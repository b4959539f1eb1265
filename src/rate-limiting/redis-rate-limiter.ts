import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { Redis } from 'ioredis';
import type { Logger } from 'pino';
import type { Environment } from '../config.ts';
import { InMemoryRateLimiter, rateLimitResult, type RateLimiter, type RateLimitResult } from './request-limits.ts';

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

/** With the command that `COUNT` defines. */
type CountingRedis = Redis & { countUnits(...args: unknown[]): Promise<[count: number, msLeft: number]> };

interface RedisRateLimiterOptions {
  readonly redisUrl: string;
  /** Prefix of its Redis keys; see `redisNamespace`. */
  readonly namespace: string;
  readonly windowSeconds: number;
  readonly logger: Pick<Logger, 'info' | 'warn'>;
}

/** How long counts must not have failed before requests wait for them again. */
const RETURN_MS = 1_000;

/**
 * Counts with all processes on the same Redis. If that fails or takes too long, this process counts by itself, up to the
 * full limit, and no request waits any more until later counts have succeeded for a while: a failure of the counting must
 * not become a failure of the service.
 */
export class RedisRateLimiter implements RateLimiter {
  readonly windowSeconds: number;
  readonly #options: RedisRateLimiterOptions;
  readonly #redis: CountingRedis;
  readonly #local: InMemoryRateLimiter;
  /** Why the connection is lost; failed commands only report that it is. */
  #lastError: unknown = null;
  #isShared: boolean | null = null;
  /** How often this process fell back to counting by itself. */
  fallbacks = 0;
  #failedAtMs = -Infinity;
  #isClosed = false;
  #timer: NodeJS.Timeout | undefined;

  private constructor(options: RedisRateLimiterOptions) {
    this.#options = options;
    this.windowSeconds = options.windowSeconds;
    this.#local = new InMemoryRateLimiter(this.windowSeconds);
    const redis = openRedis(options.redisUrl, COMMAND_TIMEOUT_MS);
    // Sends the script once, and then its digest.
    redis.defineCommand('countUnits', { numberOfKeys: 1, lua: COUNT });
    redis.on('error', (error: Error & { command?: { name: string } }) => {
      this.#lastError = error;
      // Otherwise the client would continue in the wrong database.
      if (error.command?.name === 'select') redis.disconnect(true);
    });
    this.#redis = redis as CountingRedis;
  }

  /** Starts to count in Redis. Waits until Redis counts or is known not to, but not for long. */
  static async start(options: RedisRateLimiterOptions): Promise<RedisRateLimiter> {
    const limiter = new RedisRateLimiter(options);
    const redis = limiter.#redis;
    await once(redis, 'ready', { signal: AbortSignal.timeout(START_TIMEOUT_MS) }).catch(() => undefined);
    await limiter.count('probe', 1);
    redis.on('close', () => void limiter.count('probe', 1));
    redis.on('ready', () => (limiter.#lastError = null));
    return limiter;
  }

  /** Whether requests are currently counted for all processes together. */
  get isShared(): boolean {
    return this.#isShared === true && this.#redis.status === 'ready';
  }

  /** Closes the connection. From now on this process counts on its own, and nothing is logged. */
  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    this.#redis.disconnect();
  }

  count(key: string, quota: number, units = 1): RateLimitResult | Promise<RateLimitResult> {
    if (this.#redis.status !== 'ready') {
      this.#recordFailure(new Error('not connected'));
      return this.#local.count(key, quota, units);
    }
    const counted = this.#redis.countUnits(`${this.#options.namespace}:${key}`, units, this.windowSeconds).then(
      ([count, msLeft]) => {
        this.#recordSuccess();
        return rateLimitResult(count, quota, msLeft);
      },
      (error: unknown) => {
        this.#recordFailure(error);
        return null;
      },
    );
    if (this.#isShared === false) return this.#local.count(key, quota, units);
    return counted.then((result) => result ?? this.#local.count(key, quota, units));
  }

  #probeLater(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      void this.count('probe', 1);
    }, RETURN_MS).unref();
  }

  /** If Redis responds too late now and then, that must not be logged each time. */
  #recordSuccess(): void {
    if (this.#isShared === true || this.#isClosed) return;
    if (performance.now() - this.#failedAtMs < RETURN_MS) {
      this.#probeLater();
      return;
    }
    this.#options.logger.info(`Redis counts requests${this.#isShared === null ? '' : ' again'}`);
    this.#isShared = true;
  }

  #recordFailure(error: unknown): void {
    if (this.#isClosed) return;
    this.#failedAtMs = performance.now();
    this.#probeLater();
    if (this.#isShared === false) return;
    this.#isShared = false;
    this.fallbacks += 1;
    const message = 'Redis does not count requests: this process counts by itself, up to the full limit';
    this.#options.logger.warn({ reason: reasonOf(this.#lastError ?? error, this.#options.redisUrl) }, message);
  }
}

/** Timeout for connecting and for silence on a connection; after it, a new connection is opened. */
const SILENCE_MS = 1_000;

/** The pause before reconnecting, randomized so that processes do not all reconnect at the same time. */
const RECONNECT_MS = { min: 150, max: 400 };

/**
 * Opens a connection that reconnects forever. Commands fail if they cannot be sent immediately, or have no response
 * when the connection is lost: resending one would count a request twice. The caller must listen for 'error', expose
 * its errors only through `reasonOf`, and disconnect in the end.
 *
 * With `redis+sentinel://HOST,HOST:PORT/NAME`, Sentinel on these hosts names the primary.
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
 * The prefix of all Redis keys of one installation. The IDs of partners begin at 1 in each, so two on one Redis would count
 * each other's requests. It contains an HMAC by the cursor secret, which does not reveal that secret. The environment is
 * part of it, because a test installation is often a copy of production.
 */
export function redisNamespace(cursorSecret: Buffer, environment: Environment): string {
  const token = createHmac('sha256', cursorSecret).update(`redis ${environment}`).digest('base64url');
  return `pds:${token.slice(0, 16)}`;
}
