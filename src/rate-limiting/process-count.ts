import { randomUUID } from 'node:crypto';
import type { Redis } from 'ioredis';

/** How long a process counts as alive after its last heartbeat. */
const EXPIRY_MS = 5_000;

/** Uses the clock of Redis only, because the hosts' clocks can differ. Returns the number of live processes. */
const BEAT = `
local time = redis.call('time')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('zadd', KEYS[1], now, ARGV[1])
redis.call('zremrangebyscore', KEYS[1], '-inf', now - ARGV[2])
redis.call('pexpire', KEYS[1], ARGV[2])
return redis.call('zcard', KEYS[1])`;

/**
 * Tracks how many processes count in this Redis, by their heartbeats. The number must be known before Redis fails, when
 * no process can ask for it.
 */
export class ProcessCount {
  readonly #redis: Redis;
  readonly #key: string;
  readonly #min: number;
  readonly #now: () => number;
  readonly #id = randomUUID();
  #known: number;
  #fewerSinceMs: number | null = null;

  /** @param min lower bound, whatever Redis reports: the number of workers of one primary process. */
  constructor(redis: Redis, namespace: string, min: number, now: () => number = () => performance.now()) {
    this.#redis = redis;
    this.#key = `${namespace}:processes`;
    this.#min = min;
    this.#now = now;
    this.#known = min;
  }

  /** The last known number, 1 or more. */
  get known(): number {
    return this.#known;
  }

  /** Sends a heartbeat and receives the number of processes. If Redis accepts it, Redis is also writable. */
  async beat(): Promise<void> {
    this.#hear(Number(await this.#redis.eval(BEAT, 1, this.#key, this.#id, EXPIRY_MS)));
  }

  /** Removes this process from the count. */
  async leave(): Promise<void> {
    await this.#redis.zrem(this.#key, this.#id);
  }

  /** Call when Redis is lost: earlier counts say nothing about processes that could not reach it since. */
  lose(): void {
    this.#fewerSinceMs = null;
  }

  /**
   * A higher count is adopted immediately, a lower one only after it has lasted for EXPIRY_MS: in a Redis that has just
   * come back, only the first process to return is listed, and Redis may fail again before the others are.
   */
  #hear(count: number): void {
    const heard = Math.max(this.#min, count);
    if (heard >= this.#known) {
      this.#known = heard;
      this.#fewerSinceMs = null;
      return;
    }
    this.#fewerSinceMs ??= this.#now();
    if (this.#now() - this.#fewerSinceMs >= EXPIRY_MS) {
      this.#known = heard;
      this.#fewerSinceMs = null;
    }
  }
}
