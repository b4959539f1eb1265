import { randomUUID } from 'node:crypto';
import type { Redis } from 'ioredis';

/** How long a process counts as there since it was last heard of. */
const EXPIRY_MS = 5_000;

/** By Redis' clock alone, since those of the hosts may differ. Gives the number of those that are there. */
const BEAT = `
local time = redis.call('time')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('zadd', KEYS[1], now, ARGV[1])
redis.call('zremrangebyscore', KEYS[1], '-inf', now - ARGV[2])
redis.call('pexpire', KEYS[1], ARGV[2])
return redis.call('zcard', KEYS[1])`;

/**
 * How many processes count in this Redis, by the signs of life that they leave there: to be
 * known in advance of the moment when none can ask any more.
 */
export class ProcessCount {
  readonly #redis: Redis;
  readonly #key: string;
  readonly #least: number;
  readonly #now: () => number;
  readonly #id = randomUUID();
  #known: number;
  #fewerSinceMs: number | null = null;

  /** @param least so many there are, whatever was heard: the workers of one primary process. */
  constructor(redis: Redis, namespace: string, least: number, now: () => number = () => performance.now()) {
    this.#redis = redis;
    this.#key = `${namespace}:processes`;
    this.#least = least;
    this.#now = now;
    this.#known = least;
  }

  /** The last that was known, 1 or more. */
  get known(): number {
    return this.#known;
  }

  /**
   * Says that this process is there, and hears how many are. That Redis takes it also shows that
   * Redis can be written to.
   */
  async beat(): Promise<void> {
    this.#hear(Number(await this.#redis.eval(BEAT, 1, this.#key, this.#id, EXPIRY_MS)));
  }

  /** Says that this process is there no longer. */
  async leave(): Promise<void> {
    await this.#redis.zrem(this.#key, this.#id);
  }

  /** What was heard while Redis could be asked says nothing of those who could not ask meanwhile. */
  lose(): void {
    this.#fewerSinceMs = null;
  }

  /**
   * More are believed at once, fewer when it has been fewer for as long as one may be silent: in
   * a Redis that has just come back, all are missing but the first to return, and it may be gone
   * again before the others are there.
   */
  #hear(count: number): void {
    const heard = Math.max(this.#least, count);
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
