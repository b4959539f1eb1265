import { setImmediate as yieldToRequests, setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { UsageRow } from '../database/tables.ts';
import type { UsageStore } from './usage-store.ts';
import type { RequestObserver, ObservedRequest } from '../http/request/observers.ts';
import { DAY_MS, dayOf, type Clock } from '../timestamp.ts';

/** A killed process can lose up to two intervals of counts, and one more for each failed write. */
const INTERVAL_MS = 5_000;

/** Fewer failures in a row can be a collision with another writer, and are not logged. */
const MIN_LOGGED_FAILURES = 3;

const SHUTDOWN_TIMEOUT_MS = 3_000;
const SHUTDOWN_RETRY_MS = 50;

/** Rows per transaction: a millisecond or two of SQLite, which blocks requests for that long. */
const BATCH_ROWS = 200;

interface UsageRecorderOptions {
  readonly store: UsageStore;
  readonly clock: Clock;
  readonly retentionDays: number;
  readonly logger: Pick<Logger, 'info' | 'warn'>;
}

/**
 * Counts requests by partner, key, endpoint and day, and writes the counts every five seconds. Requests never wait for
 * a write. If writes fail, counts accumulate in bounded memory until one succeeds.
 */
export class UsageRecorder {
  readonly #options: UsageRecorderOptions;
  readonly #counts = new UsageCounts();
  /** Taken from the counts, and not written yet. */
  #unwritten: UsageRow[] = [];
  #writing: Promise<void> | null = null;
  #timer: NodeJS.Timeout | undefined;
  #failuresInARow = 0;
  #failedWrites = 0;
  #oldDeletedOn = '';

  constructor(options: UsageRecorderOptions) {
    this.#options = options;
  }

  readonly observe: RequestObserver = (request) => this.#counts.count(request, this.#options.clock());

  /** For metrics: requests that are counted but not written yet, and failed writes since the start. */
  get state(): { readonly pendingRequests: number; readonly failedWrites: number } {
    const pendingRequests = this.#counts.requests + requestsIn(this.#unwritten.values());
    return { pendingRequests, failedWrites: this.#failedWrites };
  }

  start(): void {
    this.#timer = setInterval(() => void this.write(), INTERVAL_MS).unref();
  }

  /** Writes the remaining counts, retrying for three seconds, and closes the store. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    const { store, logger } = this.#options;
    const deadlineMs = performance.now() + SHUTDOWN_TIMEOUT_MS;
    const written = (async () => {
      await this.#writing;
      while (this.state.pendingRequests > 0 && performance.now() < deadlineMs) {
        await this.write();
        if (this.#failuresInARow > 0) await delay(SHUTDOWN_RETRY_MS);
      }
    })();
    await Promise.race([written, delay(SHUTDOWN_TIMEOUT_MS, undefined, { ref: false })]);
    const { pendingRequests } = this.state;
    if (pendingRequests > 0) logger.warn({ requests: pendingRequests }, 'usage of these requests was not written');
    store.close();
  }

  /** Writes all counts so far, unless a write is in progress. Never rejects; `state` shows failures. */
  write(): Promise<void> {
    this.#writing ??= this.#write().finally(() => (this.#writing = null));
    return this.#writing;
  }

  async #write(): Promise<void> {
    const { logger } = this.#options;
    try {
      // Left by an earlier attempt.
      await this.#writeBatches();
      this.#unwritten = this.#counts.takeAll();
      await this.#writeBatches();
      await this.#deleteOld();
      if (this.#failuresInARow >= MIN_LOGGED_FAILURES) logger.info('usage is written again');
      this.#failuresInARow = 0;
    } catch (error) {
      this.#failedWrites += 1;
      this.#failuresInARow += 1;
      if (this.#failuresInARow === MIN_LOGGED_FAILURES) {
        logger.warn({ err: error }, 'usage cannot be written; requests are served, and their counts held in memory');
      }
    }
  }

  async #writeBatches(): Promise<void> {
    while (this.#unwritten.length > 0) {
      await this.#options.store.add(this.#unwritten.slice(0, BATCH_ROWS));
      this.#unwritten = this.#unwritten.slice(BATCH_ROWS);
      await yieldToRequests();
    }
  }

  /** Runs once per day and process, and deletes one day's counts per call. */
  async #deleteOld(): Promise<void> {
    const { store, clock, retentionDays } = this.#options;
    const nowMs = clock();
    const today = dayOf(nowMs);
    if (this.#oldDeletedOn === today) return;
    if (!(await store.deleteOneDayBefore(dayOf(nowMs - retentionDays * DAY_MS)))) this.#oldDeletedOn = today;
  }
}

/**
 * Maximum number of counters: one per key, endpoint and day with requests. If writes fail until all are in use,
 * requests that need another one are not counted.
 */
const MAX_COUNTERS = 20_000;

function requestsIn(rows: IteratorObject<UsageRow>): number {
  return rows.reduce((sum, { requests }) => sum + requests, 0);
}

/** Counts requests in memory until `takeAll`. */
export class UsageCounts {
  readonly #counters = new Map<string, UsageRow>();

  /** Counted requests that were not taken yet. */
  get requests(): number {
    return requestsIn(this.#counters.values());
  }

  count({ partner, keyId, route, status, rows }: ObservedRequest, nowMs: number): void {
    if (partner === null || keyId === null) return;
    const endpoint = route ?? 'unknown';
    const id = `${Math.floor(nowMs / DAY_MS)} ${keyId} ${endpoint}`;
    let counter = this.#counters.get(id);
    if (counter === undefined) {
      if (this.#counters.size === MAX_COUNTERS) return;
      const none = { requests: 0, records: 0, limited: 0, failed: 0 };
      counter = { day: dayOf(nowMs), partner_id: partner.id, key_id: keyId, endpoint, ...none };
      this.#counters.set(id, counter);
    }
    counter.requests += 1;
    counter.records += rows;
    if (status === 429) counter.limited += 1;
    else if (status !== null && status >= 500) counter.failed += 1;
  }

  /** Removes and returns all counts, in an order that is the same in every process, so that none locks out another. */
  takeAll(): UsageRow[] {
    const entries = [...this.#counters].sort(([a], [b]) => (a < b ? -1 : 1));
    this.#counters.clear();
    return entries.map(([, row]) => row);
  }
}
