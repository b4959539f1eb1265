import type { Logger } from 'pino';
import type { Partner } from '../access/scope.ts';
import { networkOf } from '../http/address-network.ts';
import { CountingWindows, type CountingWindow } from '../http/counting-windows.ts';
import {
  allowanceOf,
  FAILURES_PER_MINUTE,
  RequestCounts,
  shareOf,
  type Allowance,
  type RequestLimits,
} from '../http/request-counts.ts';
import { machineNowMs } from './machine-clock.ts';
import type { CountsMessage, Grant, LeaseMessage, Refusal, Returned } from './messages.ts';

/** How long a request waits for the primary process. */
const ASK_TIMEOUT_MS = 1_000;

/** What this worker knows of a key's window. */
interface Lease extends CountingWindow {
  /** Requests that may still pass. */
  left: number;
  /** What the primary had counted or given away when it answered. */
  readonly taken: number;
  /** What was asked with. */
  readonly quota: number;
  /** Nothing was left for the quota that was asked with. */
  readonly isUsedUp: boolean;
  /** Refused here since. */
  refused: number;
}

interface Waiting {
  readonly quota: number;
  resolve(allowance: Allowance): void;
}

/** An ask that the primary has not answered, and the requests that wait for it. */
interface Asking {
  readonly waiting: Waiting[];
  timer: NodeJS.Timeout | undefined;
}

export interface LeasedLimitsOptions {
  readonly windowSeconds: number;
  readonly workers: number;
  send(message: CountsMessage): void;
  readonly logger?: Pick<Logger, 'info' | 'warn'>;
  readonly now?: () => number;
}

/**
 * The limits in a worker. The primary process counts for all workers; this one asks it for
 * leases, and decides by itself, at once, as far as they reach. Where the primary does not
 * answer within a second, it counts by itself until it does, up to its share of each quota: an
 * outage of the counting is to be none of the service.
 */
export class LeasedLimits implements RequestLimits {
  readonly windowSeconds: number;
  readonly #options: LeasedLimitsOptions;
  readonly #now: () => number;
  readonly #leases = new CountingWindows<string, Lease>();
  readonly #asking = new Map<string, Asking>();
  readonly #ownCounts: RequestCounts<string>;
  #isPrimaryHeard = true;

  constructor(options: LeasedLimitsOptions) {
    this.#options = options;
    this.#now = options.now ?? machineNowMs;
    this.windowSeconds = options.windowSeconds;
    this.#ownCounts = new RequestCounts(options.windowSeconds);
  }

  countRequest({ id, requestsPerMinute }: Pick<Partner, 'id' | 'requestsPerMinute'>): Allowance | Promise<Allowance> {
    return this.#count(`partner ${id}`, requestsPerMinute);
  }

  countFailure(address: string): Allowance | Promise<Allowance> {
    return this.#count(`failures ${networkOf(address)}`, FAILURES_PER_MINUTE);
  }

  /** Takes what the primary has to say. */
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

  /** The primary process is gone: nobody has to wait for it any longer. */
  countAlone(): void {
    this.#isPrimaryHeard = false;
    for (const [key, asking] of this.#asking) this.#countHere(key, asking);
  }

  #count(key: string, quota: number): Allowance | Promise<Allowance> {
    const asking = this.#asking.get(key);
    // While an answer is awaited there is no lease, and those who came before are first.
    const decided = asking === undefined ? this.#decide(this.#find(key), quota) : undefined;
    if (decided !== undefined) return decided;
    if (!this.#isPrimaryHeard) {
      // Its answer will tell that it is back.
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

  /** What can be said without the primary; undefined where nothing can. */
  #decide(lease: Lease | undefined, quota: number): Allowance | undefined {
    if (lease === undefined) return undefined;
    const { taken, endsAtMs, isUsedUp } = lease;
    const msLeft = endsAtMs - this.#now();
    // Where the quota was lowered since, only the primary knows what others have used of the higher one.
    if (lease.left > 0 && quota >= lease.quota) {
      lease.left -= 1;
      return allowanceOf(taken - lease.left, quota, msLeft);
    }
    if (isUsedUp && taken + lease.refused + 1 > quota) {
      lease.refused += 1;
      return allowanceOf(taken + lease.refused, quota, msLeft);
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
      // The primary has counted this one. Where the answer came too late, it was decided here, and is missing.
      const first = waiting.shift();
      first?.resolve(allowanceOf(taken, first.quota, endsAtMs - nowMs));
    }
    for (let next = waiting[0]; next !== undefined; next = waiting[0]) {
      const decided = this.#decide(lease, next.quota);
      if (decided === undefined) {
        this.#ask(key, next.quota, waiting);
        return;
      }
      next.resolve(decided);
      waiting.shift();
      // The window may be over by now. What was given for the first is good for it all the same.
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

  #countByShare(key: string, quota: number): Allowance {
    return this.#ownCounts.count(key, shareOf(quota, this.#options.workers));
  }
}
