import type { RateLimitResult } from '../../src/http/request-counts.ts';
import { LeaseLedger } from '../../src/workers/lease-ledger.ts';
import { WorkerRateLimiter } from '../../src/workers/worker-rate-limiter.ts';
import type { CountsMessage, LeaseMessage } from '../../src/workers/messages.ts';

export const WINDOW_MS = 60_000;

/**
 * A primary and its workers in one process. Messages wait in their channels, in order, until the test delivers them,
 * and the clock moves only when the test moves it.
 */
export class SimulatedWorkers {
  nowMs = 1_000;
  readonly #workers: WorkerRateLimiter[];
  readonly #toPrimary: CountsMessage[][];
  readonly #toWorker: LeaseMessage[][];
  readonly #dead = new Set<number>();
  readonly #ledger: LeaseLedger;

  constructor(count: number) {
    const now = (): number => this.nowMs;
    const windowSeconds = WINDOW_MS / 1_000;
    this.#toPrimary = Array.from({ length: count }, () => []);
    this.#toWorker = Array.from({ length: count }, () => []);
    this.#ledger = new LeaseLedger({
      windowSeconds,
      workers: count,
      now,
      send: (worker, message) => this.#toWorker[worker]?.push(copyOf(message)),
    });
    this.#workers = this.#toPrimary.map(
      (channel) =>
        new WorkerRateLimiter({ windowSeconds, workers: count, now, send: (message) => channel.push(copyOf(message)) }),
    );
  }

  isDead(worker: number): boolean {
    return this.#dead.has(worker);
  }

  request(worker: number, requestsPerMinute: number): RateLimitResult | Promise<RateLimitResult> {
    const limits = this.#workers[worker];
    if (limits === undefined) throw new Error(`there is no worker ${worker}`);
    return limits.countRequest({ id: 1, requestsPerMinute });
  }

  /** Delivers the first message of a channel, if there is one. */
  deliver(worker: number, direction: 'toPrimary' | 'toWorker'): boolean {
    if (direction === 'toPrimary') {
      const message = this.#toPrimary[worker]?.shift();
      if (message !== undefined) this.#ledger.receive(worker, message);
      return message !== undefined;
    }
    const message = this.#toWorker[worker]?.shift();
    if (message !== undefined && !this.isDead(worker)) this.#workers[worker]?.receive(message);
    return message !== undefined;
  }

  /** Delivers until all channels are empty. */
  deliverAll(): void {
    let isDone = false;
    while (!isDone) {
      isDone = true;
      for (const worker of this.#workers.keys()) {
        if (this.deliver(worker, 'toPrimary')) isDone = false;
        if (this.deliver(worker, 'toWorker')) isDone = false;
      }
    }
  }

  /** Messages that a worker had sent arrive before the primary learns of its death. */
  kill(worker: number): void {
    while (this.deliver(worker, 'toPrimary'));
    this.#dead.add(worker);
    this.#ledger.forget(worker);
  }
}

/** A copy as received over an IPC channel. */
function copyOf<T>(message: T): T {
  return JSON.parse(JSON.stringify(message)) as T;
}
