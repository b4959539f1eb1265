import type { Logger } from 'pino';
import { InMemoryRateLimiter, rateLimitResult, type RateLimiter, type RateLimitResult } from './request-limits.ts';

/** How long counts must not have failed before requests wait for them again. */
const RETURN_MS = 1_000;

interface SharedRateLimiterOptions {
  readonly windowSeconds: number;
  /** Counts in Redis, for all processes. Returns the count, and the milliseconds until its window ends. */
  readonly countForAll: (key: string, units: number) => Promise<[count: number, msLeft: number]>;
  /** Whether a request sent to Redis now could be counted. If not, no request waits for it. */
  readonly isConnected: () => boolean;
  /** The reason for a failure, safe to log. */
  readonly reasonOf: (error: unknown) => string;
  readonly logger: Pick<Logger, 'info' | 'warn'>;
}

/**
 * Counts with other processes. If that fails or takes too long, this process counts by itself, up to the full limit, and
 * no request waits any more until later counts have succeeded for a while: a failure of the counting must not become a
 * failure of the service.
 */
export class SharedRateLimiter implements RateLimiter {
  readonly windowSeconds: number;
  readonly #options: SharedRateLimiterOptions;
  readonly #local: InMemoryRateLimiter;
  #isShared: boolean | null = null;
  #fallbacks = 0;
  #failedAtMs = -Infinity;
  #isClosed = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: SharedRateLimiterOptions) {
    this.#options = options;
    this.windowSeconds = options.windowSeconds;
    this.#local = new InMemoryRateLimiter(this.windowSeconds);
  }

  /** Whether requests are currently counted for all processes together. */
  get isShared(): boolean {
    return this.#isShared === true && this.#options.isConnected();
  }

  get fallbacks(): number {
    return this.#fallbacks;
  }

  /** Reports the current state, even without requests. */
  probe(): void {
    void this.count('probe', 1);
  }

  /** From now on this process counts on its own, and nothing is logged. */
  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
  }

  count(key: string, quota: number, units = 1): RateLimitResult | Promise<RateLimitResult> {
    const { isConnected, countForAll } = this.#options;
    if (!isConnected()) {
      this.#recordFailure(new Error('not connected'));
      return this.#local.count(key, quota, units);
    }
    const counted = countForAll(key, units).then(
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
      this.probe();
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
    const { reasonOf, logger } = this.#options;
    this.#isShared = false;
    this.#fallbacks += 1;
    const message = 'Redis does not count requests: this process counts by itself, up to the full limit';
    logger.warn({ reason: reasonOf(error) }, message);
  }
}
