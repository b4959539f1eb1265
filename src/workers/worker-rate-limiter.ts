import type { Logger } from 'pino';
import type { Partner } from '../access/scope.ts';
import { networkOf } from '../http/address-network.ts';
import { CountingWindows, type CountingWindow } from '../http/counting-windows.ts';
import {
  rateLimitResult,
  FAILURES_PER_MINUTE,
  RequestCounts,
  shareOf,
  type RateLimitResult,
  type RateLimiter,
} from '../http/request-counts.ts';
import { machineNowMs } from './machine-clock.ts';
import type { CountsMessage, Grant, LeaseMessage, Refusal, Returned } from './messages.ts';

/** How long a request waits for the primary process. */
const ASK_TIMEOUT_MS = 1_000;

/** This worker's state for the current window of a key. */
interface Lease extends CountingWindow {
  /** Requests that can still be accepted. */
  left: number;
  /** Requests that the primary had counted or leased out when it responded. */
  readonly taken: number;
  /** The quota of the request for the lease. */
  readonly quota: number;
  /** True if that quota was exhausted. */
  readonly isUsedUp: boolean;
  /** Requests refused here since. */
  refused: number;
}

interface Waiting {
  readonly quota: number;
  resolve(limitResult: RateLimitResult): void;
}

/** A pending request to the primary, and the client requests that wait for it. */
interface Asking {
  readonly waiting: Waiting[];
  timer: NodeJS.Timeout | undefined;
}

export interface WorkerRateLimiterOptions {
  readonly windowSeconds: number;
  readonly workers: number;
  send(message: CountsMessage): void;
  readonly logger?: Pick<Logger, 'info' | 'warn'>;
  readonly now?: () => number;
}

/**
 * Rate limits in a worker process. The primary counts for all workers; this worker requests leases from it and decides
 * synchronously while they last. If the primary does not respond within a second, the worker counts on its own, up to
 * its share of each quota, until the primary responds again: a failure of the counting must not become a failure of the
 * service.
 */
export class WorkerRateLimiter implements RateLimiter {
  readonly windowSeconds: number;
  readonly #options: WorkerRateLimiterOptions;
  readonly #now: () => number;
  readonly #leases = new CountingWindows<string, Lease>();
  readonly #asking = new Map<string, Asking>();
  readonly #ownCounts: RequestCounts<string>;
  #isPrimaryHeard = true;

  constructor(options: WorkerRateLimiterOptions) {
    this.#options = options;
    this.#now = options.now ?? machineNowMs;
    this.windowSeconds = options.windowSeconds;
    this.#ownCounts = new RequestCounts(options.windowSeconds);
  }

  countRequest({
    id,
    requestsPerMinute,
  }: Pick<Partner, 'id' | 'requestsPerMinute'>): RateLimitResult | Promise<RateLimitResult> {
    return this.#count(`partner ${id}`, requestsPerMinute);
  }

  countFailure(address: string): RateLimitResult | Promise<RateLimitResult> {
    return this.#count(`failures ${networkOf(address)}`, FAILURES_PER_MINUTE);
  }

  /** Handles a message from the primary. */
  receive(message: LeaseMessage): void {
    if (!this.#isPrimaryHeard) this.#options.logger?.info('the primary process counts requests again');
    this.#isPrimaryHeard = true;
    if (message.type === 'recall') {
      this.#options.send({ type: 'return', ...this.#giveBack(message.key) });
      return;
    }
    const asking = this.#asking.get(message.key);
    clearTimeout(asking?.timer);
    this.#asking.delete(message.key);
    this.#serve(asking?.waiting ?? [], message);
  }

  /** The primary has exited: stops waiting for it. */
  countAlone(): void {
    this.#isPrimaryHeard = false;
    for (const [key, asking] of this.#asking) this.#countHere(key, asking);
  }

  #count(key: string, quota: number): RateLimitResult | Promise<RateLimitResult> {
    const asking = this.#asking.get(key);
    // While a request to the primary is pending there is no lease, and earlier client requests come first.
    const decided = asking === undefined ? this.#decide(this.#find(key), quota) : undefined;
    if (decided !== undefined) return decided;
    if (!this.#isPrimaryHeard) {
      // A response will show that the primary is back.
      if (asking === undefined) this.#ask(key, quota, []);
      return this.#countByShare(key, quota);
    }
    return new Promise((resolve) => {
      const waiting = { quota, resolve };
      if (asking === undefined) {
        this.#ask(key, quota, [waiting]);
      } else {
        asking.waiting.push(waiting);
        asking.timer ??= this.#giveUpLater(key, asking);
      }
    });
  }

  #find(key: string): Lease | undefined {
    return this.#leases.find(key, this.#now());
  }

  /** Decides without the primary; undefined if that is not possible. */
  #decide(lease: Lease | undefined, quota: number): RateLimitResult | undefined {
    if (lease === undefined) return undefined;
    const { taken, endsAtMs, isUsedUp } = lease;
    const msLeft = endsAtMs - this.#now();
    // If the quota was lowered since, only the primary knows how much of the higher one others have used.
    if (lease.left > 0 && quota >= lease.quota) {
      lease.left -= 1;
      return rateLimitResult(taken - lease.left, quota, msLeft);
    }
    if (isUsedUp && taken + lease.refused + 1 > quota) {
      lease.refused += 1;
      return rateLimitResult(taken + lease.refused, quota, msLeft);
    }
    return undefined;
  }

  #serve(waiting: Waiting[], answer: Grant | Refusal): void {
    const { key, endsAtMs, taken, quota } = answer;
    const isUsedUp = answer.type === 'refusal';
    const left = isUsedUp ? 0 : answer.size;
    const nowMs = this.#now();
    let lease: Lease | undefined = { endsAtMs, left, taken, quota, isUsedUp, refused: 0 };
    this.#leases.begin(key, lease, nowMs);
    if (isUsedUp) {
      // The primary has counted the first one. If its response came too late, that request was decided here and is no
      // longer waiting.
      const first = waiting.shift();
      first?.resolve(rateLimitResult(taken, first.quota, endsAtMs - nowMs));
    }
    for (let next = waiting[0]; next !== undefined; next = waiting[0]) {
      const decided = this.#decide(lease, next.quota);
      if (decided === undefined) {
        this.#ask(key, next.quota, waiting);
        return;
      }
      next.resolve(decided);
      waiting.shift();
      // The window may have ended by now, but a lease granted for the first request still covers that one.
      lease = this.#find(key);
    }
  }

  #ask(key: string, quota: number, waiting: Waiting[]): void {
    const asking: Asking = { waiting, timer: undefined };
    if (waiting.length > 0) asking.timer = this.#giveUpLater(key, asking);
    this.#asking.set(key, asking);
    this.#options.send({ type: 'ask', ...this.#giveBack(key), quota, wanted: Math.max(1, waiting.length) });
  }

  #giveBack(key: string): Returned {
    const lease = this.#find(key);
    if (lease === undefined) return { key, endsAtMs: null, unused: 0, refused: 0 };
    this.#leases.end(key);
    return { key, endsAtMs: lease.endsAtMs, unused: lease.left, refused: lease.refused };
  }

  #giveUpLater(key: string, asking: Asking): NodeJS.Timeout {
    return setTimeout(() => {
      if (this.#isPrimaryHeard) {
        this.#options.logger?.warn(
          'the primary process does not answer; requests are counted by each worker for itself',
        );
      }
      this.#isPrimaryHeard = false;
      this.#countHere(key, asking);
    }, ASK_TIMEOUT_MS);
  }

  #countHere(key: string, asking: Asking): void {
    clearTimeout(asking.timer);
    asking.timer = undefined;
    for (const waiting of asking.waiting.splice(0)) waiting.resolve(this.#countByShare(key, waiting.quota));
  }

  #countByShare(key: string, quota: number): RateLimitResult {
    return this.#ownCounts.count(key, shareOf(quota, this.#options.workers));
  }
}
