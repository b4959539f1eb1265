import type { Logger } from 'pino';
import { InMemoryRateLimiter } from './in-memory-rate-limiter.ts';
import { shareOf, type RateLimiter, type RateLimitResult } from './rate-limiter.ts';

/** How long requests wait for the primary process. */
const RESPONSE_TIMEOUT_MS = 1_000;

/** Requests that a worker has received since its last batch: their keys and quotas. */
export interface CountsBatch {
  readonly type: 'count';
  readonly requests: readonly (readonly [key: string, quota: number])[];
}

/** The response to a batch: one result per request, in the same order. */
export interface CountedBatch {
  readonly type: 'counted';
  readonly results: readonly RateLimitResult[];
}

interface WaitingRequest {
  readonly key: string;
  readonly quota: number;
  readonly resolve: (limitResult: RateLimitResult) => void;
}

interface WorkerRateLimiterOptions {
  readonly windowSeconds: number;
  /** The number of workers among which quotas are shared if the primary does not respond. */
  readonly workers: number;
  /** Sends to the primary, which responds with `countBatch`. */
  send(batch: CountsBatch): void;
  readonly logger: Pick<Logger, 'info' | 'warn'>;
}

/**
 * Rate limits in a worker process. The primary counts for all workers. A worker sends it the requests of one event-loop
 * tick as one batch, and the next batch when it has the results, so a message carries more requests the busier the
 * worker is. (`RateLimiterCluster` of rate-limiter-flexible sends a message and starts a timer for each request.)
 *
 * If the primary does not respond within a second, the worker counts by itself, up to its share of each quota, until
 * the late response shows that the primary is back.
 */
export class WorkerRateLimiter implements RateLimiter {
  readonly windowSeconds: number;
  readonly #options: WorkerRateLimiterOptions;
  readonly #alone: InMemoryRateLimiter;
  #isAlone = false;
  /** To be sent with the next batch. */
  #waiting: WaitingRequest[] = [];
  /** The batch without a response; null if there is none. */
  #sent: WaitingRequest[] | null = null;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: WorkerRateLimiterOptions) {
    this.#options = options;
    this.windowSeconds = options.windowSeconds;
    this.#alone = new InMemoryRateLimiter(options.windowSeconds);
  }

  /** Always null: another process counts. */
  tryCount(): null {
    return null;
  }

  count(key: string, quota: number): RateLimitResult | Promise<RateLimitResult> {
    if (this.#isAlone) return this.#countAlone(key, quota);
    return new Promise((resolve) => {
      this.#waiting.push({ key, quota, resolve });
      if (this.#sent === null && this.#waiting.length === 1) setImmediate(() => this.#send());
    });
  }

  /** Handles the primary's response. */
  receive({ results }: CountedBatch): void {
    clearTimeout(this.#timer);
    if (this.#isAlone) this.#options.logger.info('the primary process counts requests again');
    this.#isAlone = false;
    const sent = this.#sent;
    this.#sent = null;
    for (const [index, limitResult] of results.entries()) sent?.[index]?.resolve(limitResult);
    this.#send();
  }

  /** Counts in this process until the primary responds: call this if the primary has exited. */
  countAlone(): void {
    clearTimeout(this.#timer);
    this.#isAlone = true;
    const waiting = [...(this.#sent?.splice(0) ?? []), ...this.#waiting.splice(0)];
    for (const { key, quota, resolve } of waiting) resolve(this.#countAlone(key, quota));
  }

  #send(): void {
    if (this.#waiting.length === 0 || this.#sent !== null) return;
    const sent = this.#waiting;
    this.#sent = sent;
    this.#waiting = [];
    // If this process itself was busy, the response may have arrived: messages are read before setImmediate's callback.
    this.#timer = setTimeout(() => setImmediate(() => this.#noticeSilence(sent)), RESPONSE_TIMEOUT_MS);
    this.#options.send({ type: 'count', requests: sent.map(({ key, quota }) => [key, quota]) });
  }

  #noticeSilence(sent: readonly WaitingRequest[]): void {
    if (this.#sent !== sent || this.#isAlone) return;
    this.#options.logger.warn('the primary process does not respond: this worker counts its share of each limit');
    this.countAlone();
  }

  #countAlone(key: string, quota: number): RateLimitResult {
    return this.#alone.count(key, shareOf(quota, this.#options.workers));
  }
}

/** The primary's response to a batch of a worker. */
export function countBatch(rateLimiter: InMemoryRateLimiter, { requests }: CountsBatch): CountedBatch {
  return { type: 'counted', results: requests.map(([key, quota]) => rateLimiter.count(key, quota)) };
}
