import type { UsageRow } from '../database/tables.ts';
import type { ObservedRequest } from '../http/request/request-observers.ts';
import { DAY_MS, dayOf } from '../timestamp.ts';

/** Maximum number of counters. There is one per key, endpoint and day with requests. */
const MAX_COUNTERS = 20_000;

/** Endpoint of requests that match no route. */
const UNKNOWN_ENDPOINT = 'unknown';

/** Counts requests in memory until `takeAll`. */
export class UsageCounts {
  readonly #counters = new Map<string, UsageRow>();
  #day = '';
  #dayStartMs = Number.NaN;
  #requests = 0;
  #dropped = 0;

  /** Counted requests that were not taken yet. */
  get requests(): number {
    return this.#requests;
  }

  /** Requests not counted because the counters were full. */
  get dropped(): number {
    return this.#dropped;
  }

  /** Counts a request if it has a partner. */
  count({ partner, keyId, route, status, rows }: ObservedRequest, nowMs: number): void {
    if (partner === null || keyId === null) return;
    const endpoint = route ?? UNKNOWN_ENDPOINT;
    const day = this.#dayAt(nowMs);
    const id = `${day} ${keyId} ${endpoint}`;
    let counter = this.#counters.get(id);
    if (counter === undefined) {
      if (this.#counters.size === MAX_COUNTERS) {
        this.#dropped += 1;
        return;
      }
      const none = { requests: 0, records: 0, limited: 0, failed: 0 };
      counter = { day, partner_id: partner.id, key_id: keyId, endpoint, ...none };
      this.#counters.set(id, counter);
    }
    this.#requests += 1;
    counter.requests += 1;
    counter.records += rows;
    if (status === 429) counter.limited += 1;
    else if (status !== null && status >= 500) counter.failed += 1;
  }

  /** Removes and returns all counts, in an order that is the same in every process, so that none locks out another. */
  takeAll(): UsageRow[] {
    const entries = [...this.#counters].sort(([a], [b]) => (a < b ? -1 : 1));
    this.#counters.clear();
    this.#requests = 0;
    return entries.map(([, row]) => row);
  }

  /** Formatting the day for each request would take longer than counting it. */
  #dayAt(nowMs: number): string {
    const startMs = Math.floor(nowMs / DAY_MS) * DAY_MS;
    if (startMs !== this.#dayStartMs) {
      this.#dayStartMs = startMs;
      this.#day = dayOf(startMs);
    }
    return this.#day;
  }
}
