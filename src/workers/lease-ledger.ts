import { CountingWindows, type CountingWindow } from '../http/counting-windows.ts';
import { machineNowMs } from './machine-clock.ts';
import type { Ask, CountsMessage, LeaseMessage, Returned } from './messages.ts';

/** Of what is left of a quota, a worker is given its share divided by this: near the end, one request at a time. */
const SHARE_DIVISOR = 2;

/** At most so many at once, or this part of the quota: that is what a partner loses when a worker is killed. */
const LARGEST_LEASE = 64;
const LARGEST_PART = 0.01;

/** How long a worker is waited for that was asked to give back. Shorter than the worker that asked waits itself. */
const RECALL_TIMEOUT_MS = 500;

interface Window extends CountingWindow {
  /** Requests that passed or were refused. */
  used: number;
  /** What workers may still let pass, and the quota that they asked with. */
  readonly held: Map<number, { readonly size: number; readonly quota: number }>;
  /** Workers that were told that nothing is left, and refuse by themselves since. */
  readonly refusing: Set<number>;
}

/** One key for which workers were asked to give back; others that ask meanwhile wait for the outcome. */
interface Settlement {
  readonly awaited: Set<number>;
  readonly asks: { worker: number; ask: Ask }[];
  readonly timer: NodeJS.Timeout;
}

export interface LeaseLedgerOptions {
  readonly windowSeconds: number;
  readonly workers: number;
  send(worker: number, message: LeaseMessage): void;
  /** A worker did not give back in time; what it holds counts as used until it does. */
  onSilence?(worker: number): void;
  readonly now?: () => number;
}

/**
 * The primary process's book of what was counted and which worker holds leases: so many requests
 * that it may let pass without asking. A lease is taken off the quota when it is given. Before
 * a request is refused, all leases of its key are called back, so that exactly the quota passes,
 * however unevenly requests are spread over the workers.
 */
export class LeaseLedger {
  readonly #options: LeaseLedgerOptions;
  readonly #now: () => number;
  readonly #windows = new CountingWindows<string, Window>();
  readonly #settlements = new Map<string, Settlement>();

  constructor(options: LeaseLedgerOptions) {
    this.#options = options;
    this.#now = options.now ?? machineNowMs;
  }

  /** Takes what a worker has to say. */
  receive(worker: number, message: CountsMessage): void {
    this.#takeBack(worker, message);
    const settlement = this.#settlements.get(message.key);
    if (message.type === 'ask') {
      const asking = { worker, ask: message };
      if (settlement === undefined) this.#answer(asking, false);
      else settlement.asks.push(asking);
    } else if (settlement?.awaited.delete(worker) === true && settlement.awaited.size === 0) {
      this.#settle(message.key);
    }
  }

  /** A worker is gone. Nobody knows how much of its leases it used: they count as used. */
  forget(worker: number): void {
    for (const window of this.#windows.values()) {
      window.used += window.held.get(worker)?.size ?? 0;
      window.held.delete(worker);
      window.refusing.delete(worker);
    }
    for (const [key, { asks, awaited }] of this.#settlements) {
      asks.splice(0, asks.length, ...asks.filter((asking) => asking.worker !== worker));
      if (awaited.delete(worker) && awaited.size === 0) this.#settle(key);
    }
  }

  #takeBack(worker: number, { key, endsAtMs, unused, refused }: Returned): void {
    const window = this.#windows.find(key, this.#now());
    if (window === undefined) return;
    const held = window.held.get(worker)?.size ?? 0;
    // Of a lease, what is not given back was used.
    window.used += window.endsAtMs === endsAtMs ? held - unused + refused : held;
    window.held.delete(worker);
    window.refusing.delete(worker);
  }

  #answer({ worker, ask }: { worker: number; ask: Ask }, isSettled: boolean): void {
    const { key, quota, wanted } = ask;
    const window = this.#windowOf(key);
    const { endsAtMs, held, refusing } = window;
    const taken = takenOf(window);
    const left = quota - taken;
    // So no worker ever has a lease while another refuses.
    const holders = left > 0 ? inTheWayOfGrant(window, quota) : new Set(held.keys());
    if (holders.size > 0 && !isSettled) {
      this.#recall(key, holders, { worker, ask });
    } else if (left > 0) {
      const share = Math.floor(left / (SHARE_DIVISOR * this.#options.workers));
      const largest = Math.max(LARGEST_LEASE, Math.floor(quota * LARGEST_PART));
      const size = Math.min(left, Math.max(wanted, Math.min(share, largest)));
      held.set(worker, { size, quota });
      this.#options.send(worker, { type: 'grant', key, endsAtMs, quota, size, taken: taken + size });
    } else {
      window.used += 1;
      refusing.add(worker);
      this.#options.send(worker, { type: 'refusal', key, endsAtMs, quota, taken: taken + 1 });
    }
  }

  #windowOf(key: string): Window {
    const nowMs = this.#now();
    const found = this.#windows.find(key, nowMs);
    if (found !== undefined) return found;
    const endsAtMs = nowMs + this.#options.windowSeconds * 1000;
    return this.#windows.begin(key, { endsAtMs, used: 0, held: new Map(), refusing: new Set() }, nowMs);
  }

  #recall(key: string, workers: Iterable<number>, asking: Settlement['asks'][number]): void {
    const awaited = new Set(workers);
    const timer = setTimeout(() => {
      for (const worker of awaited) this.#options.onSilence?.(worker);
      this.#settle(key);
    }, RECALL_TIMEOUT_MS);
    this.#settlements.set(key, { awaited, asks: [asking], timer });
    for (const worker of awaited) this.#options.send(worker, { type: 'recall', key });
  }

  /** All that could be called back has been: whoever waited is answered. */
  #settle(key: string): void {
    const settlement = this.#settlements.get(key);
    if (settlement === undefined) return;
    clearTimeout(settlement.timer);
    this.#settlements.delete(key);
    const [first, ...others] = settlement.asks;
    if (first === undefined) return;
    this.#answer(first, true);
    for (const { worker, ask } of others) {
      const next = this.#settlements.get(key);
      // Answering one may have begun the next settlement.
      if (next === undefined) this.#answer({ worker, ask }, false);
      else next.asks.push({ worker, ask });
    }
  }
}

/**
 * Who has to give back before more is given out: those who refuse by themselves, since they know
 * of requests that are not counted yet, and leases that a higher quota would overtake.
 */
function inTheWayOfGrant({ held, refusing }: Window, quota: number): Set<number> {
  const holders = new Set(refusing);
  for (const [worker, lease] of held) if (lease.quota < quota) holders.add(worker);
  return holders;
}

function takenOf({ used, held }: Window): number {
  let taken = used;
  for (const { size } of held.values()) taken += size;
  return taken;
}
