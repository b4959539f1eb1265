import { expect } from 'vitest';
import { dataOf, listAllPages, nextCursorOf, type Get, type ListedRecord } from '../support/client.ts';

export const KINDS = ['contracts', 'suppliers', 'solicitations'] as const;

type Kind = (typeof KINDS)[number];

const EPOCH = '1970-01-01T00:00:00.000Z';

/** A partner's copy of one kind, synced as the guide describes. */
export class Copy {
  readonly records = new Map<string, ListedRecord>();
  readonly kind: Kind;
  /** The `updated_since` of the next sync. */
  since = EPOCH;
  readonly #key: string;
  readonly #get: Get;
  readonly #limits: readonly number[];
  /** Of the listing that it is reading. */
  #watermark = '';
  #cursor: string | null = null;

  constructor(kind: Kind, key: string, get: Get, limits: readonly number[] = [3, 7, 1, 100]) {
    this.kind = kind;
    this.#key = key;
    this.#get = get;
    this.#limits = limits;
  }

  /** Runs one incremental sync, or completes the one in progress; returns the number of records it received. */
  sync(): Promise<number> {
    return this.read(Infinity);
  }

  /** Reads up to this many pages, or to the end of the listing; returns the number of records it received. */
  async read(pages: number): Promise<number> {
    let received = 0;
    for (let page = 0; page < pages; page += 1) {
      const limit = this.#limits[page % this.#limits.length];
      const parameters = new URLSearchParams({ updated_since: this.since, limit: String(limit) });
      if (this.#cursor !== null) parameters.set('cursor', this.#cursor);
      const response = await this.#get(`/v1/${this.kind}?${parameters.toString()}`, { key: this.#key });
      expect(response.status, response.body).toBe(200);
      const watermark = String(response.headers['x-sync-watermark']);
      // All pages of a sync have the same watermark.
      if (this.#cursor === null) this.#watermark = watermark;
      expect(watermark).toBe(this.#watermark);
      const records = dataOf(response);
      for (const record of records) this.records.set(record.id, record);
      received += records.length;
      this.#cursor = nextCursorOf(response);
      if (this.#cursor !== null) continue;
      this.since = watermark;
      break;
    }
    return received;
  }

  /** Syncs until it has seen the events up to a watermark: a response can be a second old. */
  async syncTo(watermark: string): Promise<void> {
    do await this.sync();
    while (this.since < watermark);
  }

  /** All records, by a full listing. */
  async listAll(): Promise<ListedRecord[]> {
    return (await this.listWith(this.#get)).records;
  }

  /** All records and their watermark, by a full listing with another client. */
  async listWith(get: Get): Promise<{ records: ListedRecord[]; watermark: string }> {
    const pages = await listAllPages(get, `/v1/${this.kind}`, this.#key, [100]);
    return { records: dataOf(...pages), watermark: String(pages[0]?.headers['x-sync-watermark']) };
  }
}
