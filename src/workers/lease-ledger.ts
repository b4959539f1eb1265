import { CountingWindows, type CountingWindow } from '../http/counting-windows.ts';
import { machineNowMs } from './machine-clock.ts';
import type { Ask, CountsMessage, LeaseMessage, Returned } from './messages.ts';

/** A lease is a worker's equal share of the remaining quota divided by this, so near the end it is a single request. */
const SHARE_DIVISOR = 2;

/**
 * Unless more requests are waiting, a lease is at most this many, or this fraction of the quota if that is more. A
 * partner loses that much when a worker is killed.
 */
const MAX_LEASE = 64;
const MAX_LEASE_FRACTION = 0.01;

/** How long to wait for a recalled lease. Shorter than the requesting worker's own timeout. */
const RECALL_TIMEOUT_MS = 500;

interface Window extends CountingWindow {
  /** Requests that were accepted or refused. */
  used: number;
  /** Outstanding leases by worker: the size, and the quota of the request for it. */
  readonly held: Map<number, { readonly size: number; readonly quota: number }>;
  /** Workers that were told that the quota is exhausted, and now refuse on their own. */
  readonly refusing: Set<number>;
}

/** A recall in progress for one key. Other workers' requests for the key wait for its outcome. */
interface Settlement {
  readonly awaited: Set<number>;
  readonly asks: { worker: number; ask: Ask }[];
  readonly timer: NodeJS.Timeout;
}

export interface LeaseLedgerOptions {
  readonly windowSeconds: number;
  readonly workers: number;
  send(worker: number, message: LeaseMessage): void;
  /** A worker did not return its lease in time. The lease counts as used until it does. */
  onSilence?(worker: number): void;
  readonly now?: () => number;
}

/**
 * The primary process's ledger of counted requests and outstanding leases. A lease lets a worker accept a number of
 * requests on its own, and is deducted from the quota when it is granted. Before any request is refused, all leases of
 * its key are recalled, so exactly the quota passes, however unevenly the workers are loaded.
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

  /** Handles a worker's message. */
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

  /** Removes a worker that has exited. How much of its leases it used is unknown, so they count as fully used. */
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
    // The part of a lease that is not returned was used.
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
    // Ensures that no worker holds a lease while another one refuses.
    const holders = left > 0 ? inTheWayOfGrant(window, quota) : new Set(held.keys());
    if (holders.size > 0 && !isSettled) {
      this.#recall(key, holders, { worker, ask });
    } else if (left > 0) {
      const share = Math.floor(left / (SHARE_DIVISOR * this.#options.workers));
      const largest = Math.max(MAX_LEASE, Math.floor(quota * MAX_LEASE_FRACTION));
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

  /** Ends a recall, and responds to the workers waiting for it. */
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
      // Responding to one can start the next recall.
      if (next === undefined) this.#answer({ worker, ask }, false);
      else next.asks.push({ worker, ask });
    }
  }
}

/**
 * The workers that must return before more can be granted: those that refuse on their own, since they know of requests
 * not counted yet, and holders of a lease requested with a lower quota.
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
