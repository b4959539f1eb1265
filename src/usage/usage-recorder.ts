import { setImmediate as yieldToRequests, setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { UsageRow } from '../database/tables.ts';
import type { UsageStore } from '../database/usage-store.ts';
import type { RequestObserver } from '../http/request-observers.ts';
import type { Clock } from '../instant.ts';
import { dayOf, UsageCounts } from './usage-counts.ts';

/** Half of what a killed process may lose. */
const INTERVAL_MS = 5_000;

/** Soon, as a lock is held for moments; but not forever so, as what lasts may last for days. */
const RETRY_MS = 500;
const MOST_RETRIES = 10;

/** From this failure in a row on it is no chance meeting with another writer, and the log says so. */
const FAILURES_TO_TELL = 3;

/** How long the end of the process may wait for the last counts to be written. */
const LAST_CHANCE_MS = 3_000;
const LAST_RETRY_MS = 50;

/** Written in one transaction: a millisecond or two of SQLite, which holds up requests for so long. */
const ROWS_AT_ONCE = 200;

const DAY_MS = 86_400_000;

export interface UsageRecorderOptions {
  readonly store: UsageStore;
  readonly clock: Clock;
  /** How long the counts of a day are kept. */
  readonly retentionDays: number;
  readonly logger: Pick<Logger, 'info' | 'warn'>;
}

/** For metrics. */
export interface UsageState {
  /** Requests that are counted and not written yet. */
  readonly pendingRequests: number;
  /** Attempts to write that failed, since the start. */
  readonly failedWrites: number;
  /** Requests that were not counted, since nothing could be written for long and there was no room for more. */
  readonly droppedRequests: number;
}

/**
 * Counts the requests of each partner, key, endpoint and day, and writes the counts every five
 * seconds. Requests never wait for that, and go on where nothing can be written: counts are then
 * kept, in bounded room, until they can.
 */
export class UsageRecorder {
  readonly #options: UsageRecorderOptions;
  readonly #counts = new UsageCounts();
  /** Taken to be written. The store has to be given the same array again where it failed. */
  #batches: UsageRow[][] = [];
  #writing: Promise<void> | null = null;
  #timer: NodeJS.Timeout | undefined;
  #failuresInARow = 0;
  #failedWrites = 0;
  #tidiedOn = '';

  constructor(options: UsageRecorderOptions) {
    this.#options = options;
  }

  /** Counts a request that is over. */
  readonly observe: RequestObserver = (request) => this.#counts.count(request, this.#options.clock());

  get state(): UsageState {
    const taken = this.#batches.flat().reduce((sum, { requests }) => sum + requests, 0);
    return {
      pendingRequests: this.#counts.requests + taken,
      failedWrites: this.#failedWrites,
      droppedRequests: this.#counts.dropped,
    };
  }

  /** Writes every five seconds from now on, until `stop()`. */
  start(): void {
    this.#writeLater(INTERVAL_MS);
  }

  /** Writes what there is, tries that for three seconds where it fails, and ends. */
  async stop(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const { store, logger } = this.#options;
    const giveUpAtMs = performance.now() + LAST_CHANCE_MS;
    const lastChance = (async () => {
      await this.#writing;
      while (this.state.pendingRequests > 0 && performance.now() < giveUpAtMs) {
        await this.write();
        if (this.#failuresInARow > 0) await delay(LAST_RETRY_MS);
      }
    })();
    await Promise.race([lastChance, delay(LAST_CHANCE_MS, undefined, { ref: false })]);
    const { pendingRequests } = this.state;
    if (pendingRequests > 0) logger.warn({ requests: pendingRequests }, 'these requests are missing from the usage');
    store.close();
  }

  /** Writes what was counted so far, unless that is under way; where it fails, `state` tells. */
  write(): Promise<void> {
    this.#writing ??= this.#write().finally(() => (this.#writing = null));
    return this.#writing;
  }

  async #write(): Promise<void> {
    const { logger } = this.#options;
    try {
      // What an earlier attempt left.
      await this.#writeBatches();
      this.#batches = inBatches(this.#counts.takeAll());
      await this.#writeBatches();
      await this.#deleteOld();
      if (this.#failuresInARow >= FAILURES_TO_TELL) logger.info('usage is written again');
      this.#failuresInARow = 0;
    } catch (error) {
      this.#failedWrites += 1;
      this.#failuresInARow += 1;
      if (this.#failuresInARow === FAILURES_TO_TELL) {
        logger.warn({ err: error }, 'usage cannot be written; requests are answered and counted on until it can');
      }
    }
  }

  async #writeBatches(): Promise<void> {
    for (let batch = this.#batches[0]; batch !== undefined; batch = this.#batches[0]) {
      await this.#options.store.add(batch);
      this.#batches.shift();
      await yieldToRequests();
    }
  }

  /** Once a day and process; a day's counts at a time. */
  async #deleteOld(): Promise<void> {
    const { store, clock, retentionDays } = this.#options;
    const nowMs = clock();
    const today = dayOf(nowMs);
    if (this.#tidiedOn === today) return;
    if (!(await store.deleteOneDayBefore(dayOf(nowMs - retentionDays * DAY_MS)))) this.#tidiedOn = today;
  }

  #writeLater(afterMs: number): void {
    this.#timer = setTimeout(() => {
      void this.write().then(() => {
        if (this.#timer === undefined) return;
        const isRetry = this.#failuresInARow > 0 && this.#failuresInARow <= MOST_RETRIES;
        this.#writeLater(isRetry ? RETRY_MS : INTERVAL_MS);
      });
    }, afterMs).unref();
  }
}

function inBatches(rows: UsageRow[]): UsageRow[][] {
  const batches: UsageRow[][] = [];
  for (let from = 0; from < rows.length; from += ROWS_AT_ONCE) batches.push(rows.slice(from, from + ROWS_AT_ONCE));
  return batches;
}
