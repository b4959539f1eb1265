import type { Redis } from 'ioredis';
import type { Logger } from 'pino';
import { RateLimiterRedis } from 'rate-limiter-flexible';
import { InMemoryRateLimiter } from './in-memory-rate-limiter.ts';
import { ProcessCount } from './process-count.ts';
import { rateLimitResult, shareOf, type RateLimiter, type RateLimitResult } from './rate-limiter.ts';
import { openRedis, reasonOf, shownRedisUrl, withDeadline } from './redis-connection.ts';

/** How long a request waits for Redis, out of the 100 ms that it can be delayed in total. */
export const RESPONSE_DEADLINE_MS = 80;

/** Heartbeat interval while Redis counts, so that its silence is noticed even without requests. */
const BEAT_INTERVAL_MS = 1_000;

/** Probe interval while Redis does not count. */
const PROBE_INTERVAL_MS = 250;

/** How long startup waits for Redis. Startup must not fail because Redis is down. */
const START_DEADLINE_MS = 1_500;

/**
 * If Redis fails within BRIEF_MS of its return, it responds to probes but cannot count or keep up. The pause before the
 * next return then doubles, up to `max`.
 */
const BRIEF_MS = 10_000;
const RETURN_PAUSE_MS = { first: 250, max: 10_000 };

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
  /** Minimum number of processes: those that were started together. */
  readonly minProcesses: number;
  readonly logger: Pick<Logger, 'info' | 'warn'>;
}

/**
 * Rate limits shared by any number of processes and hosts, counted exactly in Redis. If Redis does not respond in time,
 * or with anything but a count, this process counts on its own up to its share of each quota. Further requests do not
 * wait for Redis until it counts again, which is probed continuously. A failure of the counting must not become a
 * failure of the service.
 *
 * Not the `insuranceLimiter` of rate-limiter-flexible: it counts a request only after Redis has failed that request, so
 * each one would wait while Redis is silent, and it has one fixed quota instead of a share of each partner's.
 */
export class RedisRateLimiter implements RateLimiter {
  readonly windowSeconds: number;
  readonly #options: RedisRateLimiterOptions;
  readonly #redis: Redis;
  readonly #limiter: RateLimiterRedis;
  readonly #processes: ProcessCount;
  readonly #alone: InMemoryRateLimiter;
  readonly #decided = Promise.withResolvers<null>();
  #state: 'starting' | 'shared' | 'alone' | 'closed' = 'starting';
  #fallbacks = 0;
  #sharedSinceMs = -Infinity;
  #returnPauseMs = 0;
  #returnNotBeforeMs = -Infinity;
  #isBeating = false;
  #timer: NodeJS.Timeout | undefined;
  /** The connection's last error since it was last healthy. */
  #complaint: string | null = null;

  constructor(options: RedisRateLimiterOptions) {
    const { redisUrl, namespace, windowSeconds, minProcesses } = options;
    this.#options = options;
    this.windowSeconds = windowSeconds;
    this.#alone = new InMemoryRateLimiter(windowSeconds);
    this.#redis = openRedis(redisUrl);
    this.#limiter = new RateLimiterRedis({
      storeClient: this.#redis,
      keyPrefix: namespace,
      duration: windowSeconds,
      // Unused: the quota comes with each request and is checked here.
      points: 0,
      customIncrTtlLuaScript: COUNT,
    });
    this.#processes = new ProcessCount(this.#redis, namespace, minProcesses);
    this.#redis.on('error', (error: Error & { command?: { name: string } }) => this.#noticeError(error));
    this.#redis.on('close', () => this.#lose(this.#complaint ?? 'it closed the connection'));
    this.#redis.on('ready', () => {
      this.#complaint = null;
      void this.#beat();
    });
  }

  /** Whether requests are currently counted for all processes together. */
  get isShared(): boolean {
    return this.#state === 'shared';
  }

  /** How many times this process fell back to counting on its own. */
  get fallbacks(): number {
    return this.#fallbacks;
  }

  /** How many processes share the limits, including this one, as far as is known. */
  get processes(): number {
    return this.#processes.known;
  }

  /** Waits until Redis counts, or is known not to. */
  async start(): Promise<void> {
    const timer = setTimeout(() => this.#lose('it does not respond'), START_DEADLINE_MS);
    await this.#decided.promise;
    clearTimeout(timer);
  }

  /** Always null: another process counts. */
  tryCount(): null {
    return null;
  }

  count(key: string, quota: number): RateLimitResult | Promise<RateLimitResult> {
    if (!this.isShared) return this.#countAlone(key, quota);
    // `consume` would apply one quota to all partners.
    return withDeadline(this.#limiter.penalty(key), RESPONSE_DEADLINE_MS).then(
      ({ consumedPoints, msBeforeNext }) => rateLimitResult(consumedPoints, quota, msBeforeNext),
      (error: unknown) => {
        this.#lose(this.#complaint ?? reasonOf(error, this.#options.redisUrl));
        return this.#countAlone(key, quota);
      },
    );
  }

  /** Closes the connection. From now on this process counts on its own. */
  async close(): Promise<void> {
    const wasShared = this.isShared;
    this.#state = 'closed';
    clearTimeout(this.#timer);
    // If this fails, the others notice the missing heartbeats.
    if (wasShared) await withDeadline(this.#processes.leave(), RESPONSE_DEADLINE_MS).catch(() => undefined);
    this.#redis.disconnect();
  }

  #countAlone(key: string, quota: number): RateLimitResult {
    return this.#alone.count(key, shareOf(quota, this.processes));
  }

  #noticeError(error: Error & { command?: { name: string } }): void {
    this.#complaint = reasonOf(error, this.#options.redisUrl);
    if (error.command?.name !== 'select') return;
    // Otherwise the client would continue in the wrong database.
    this.#lose(this.#complaint);
    this.#redis.disconnect(true);
  }

  /** Sends a heartbeat, which also checks that Redis is writable. */
  async #beat(): Promise<void> {
    if (this.#isBeating || this.#state === 'closed') return;
    this.#isBeating = true;
    const startedMs = performance.now();
    try {
      // No deadline: a heartbeat without a response fails with its connection.
      await this.#processes.beat();
      if (performance.now() - startedMs <= RESPONSE_DEADLINE_MS) this.#return();
    } catch (error) {
      this.#lose(this.#complaint ?? reasonOf(error, this.#options.redisUrl));
    }
    this.#isBeating = false;
    this.#beatLater();
  }

  #beatLater(): void {
    clearTimeout(this.#timer);
    if (this.#state === 'closed') return;
    this.#timer = setTimeout(() => void this.#beat(), this.isShared ? BEAT_INTERVAL_MS : PROBE_INTERVAL_MS);
  }

  #return(): void {
    const nowMs = performance.now();
    if (this.isShared || this.#state === 'closed' || nowMs < this.#returnNotBeforeMs) return;
    const isFirst = this.#state === 'starting';
    this.#state = 'shared';
    this.#sharedSinceMs = nowMs;
    this.#complaint = null;
    this.#options.logger.info(
      { redis: shownRedisUrl(this.#options.redisUrl), processes: this.processes },
      isFirst ? 'requests are counted in Redis' : 'requests are counted in Redis again',
    );
    this.#decided.resolve(null);
  }

  #lose(reason: string): void {
    if (this.#state === 'alone' || this.#state === 'closed') return;
    const nowMs = performance.now();
    const wasBrief = nowMs - this.#sharedSinceMs < BRIEF_MS;
    const { first, max } = RETURN_PAUSE_MS;
    this.#returnPauseMs = wasBrief ? Math.min(max, Math.max(first, 2 * this.#returnPauseMs)) : 0;
    this.#returnNotBeforeMs = nowMs + this.#returnPauseMs;
    this.#state = 'alone';
    this.#fallbacks += 1;
    this.#processes.lose();
    this.#options.logger.warn(
      { redis: shownRedisUrl(this.#options.redisUrl), reason, processes: this.processes },
      'Redis does not count requests: this process counts by itself, up to its share of each limit',
    );
    this.#decided.resolve(null);
    if (!this.#isBeating) this.#beatLater();
  }
}
