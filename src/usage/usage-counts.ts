import type { UsageRow } from '../database/tables.ts';
import type { ObservedRequest } from '../http/request-observers.ts';

/** Maximum number of counters. There is one per key, endpoint and day with requests. */
const MAX_COUNTERS = 20_000;

/** Endpoint of requests that match no route. */
const UNKNOWN_ENDPOINT = 'unknown';

const DAY_MS = 86_400_000;

/** Counters of one day, by key, then by endpoint. Nested maps, so that a lookup does not build a string. */
type DayCounters = Map<string, { readonly partnerId: number; readonly endpoints: Map<string, Counter> }>;

type Counter = Pick<UsageRow, 'requests' | 'records' | 'limited' | 'failed'>;

/** Counts requests in memory until `takeAll`. */
export class UsageCounts {
  readonly #days = new Map<string, DayCounters>();
  #today: DayCounters = new Map();
  #todayFromMs = 0;
  #todayUntilMs = 0;
  #counters = 0;
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
    if (nowMs < this.#todayFromMs || nowMs >= this.#todayUntilMs) this.#turnTo(nowMs);
    let key = this.#today.get(keyId);
    if (key === undefined) this.#today.set(keyId, (key = { partnerId: partner.id, endpoints: new Map() }));
    const endpoint = route ?? UNKNOWN_ENDPOINT;
    let counter = key.endpoints.get(endpoint);
    if (counter === undefined) {
      if (this.#counters === MAX_COUNTERS) {
        this.#dropped += 1;
        return;
      }
      this.#counters += 1;
      key.endpoints.set(endpoint, (counter = { requests: 0, records: 0, limited: 0, failed: 0 }));
    }
    this.#requests += 1;
    counter.requests += 1;
    counter.records += rows;
    if (status === 429) counter.limited += 1;
    else if (status !== null && status >= 500) counter.failed += 1;
  }

  /** Removes and returns all counts, in the order of the table's primary key. */
  takeAll(): UsageRow[] {
    const rows = [...this.#days].flatMap(([day, keys]) =>
      [...keys].flatMap(([keyId, { partnerId, endpoints }]) =>
        [...endpoints].map(([endpoint, counter]) => ({
          ...{ day, partner_id: partnerId, key_id: keyId, endpoint },
          ...counter,
        })),
      ),
    );
    this.#days.clear();
    this.#todayUntilMs = 0;
    this.#counters = 0;
    this.#requests = 0;
    return rows.sort((a, b) => compare(a.day, b.day) || compare(a.key_id, b.key_id) || compare(a.endpoint, b.endpoint));
  }

  #turnTo(nowMs: number): void {
    this.#todayFromMs = Math.floor(nowMs / DAY_MS) * DAY_MS;
    this.#todayUntilMs = this.#todayFromMs + DAY_MS;
    const day = dayOf(nowMs);
    this.#today = this.#days.get(day) ?? new Map<string, never>();
    this.#days.set(day, this.#today);
  }
}

/** The UTC day of a timestamp, such as `2026-04-15`. */
export function dayOf(epochMs: number): string {
  return new Date(epochMs).toISOString().slice(0, 10);
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
