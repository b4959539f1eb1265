import { expect } from 'vitest';
import { dataOf, listAllPages, type Get, type ListedRecord } from '../support/client.ts';

export const KINDS = ['contracts', 'suppliers', 'solicitations'] as const;

type Kind = (typeof KINDS)[number];

const EPOCH = '1970-01-01T00:00:00.000Z';

/** A partner's copy of one kind, synced as the guide describes. */
export class Copy {
  readonly records = new Map<string, ListedRecord>();
  readonly kind: Kind;
  readonly #key: string;
  readonly #get: Get;
  #since = EPOCH;

  constructor(kind: Kind, key: string, get: Get) {
    this.kind = kind;
    this.#key = key;
    this.#get = get;
  }

  /** Runs one incremental sync; returns the number of records it received. */
  async sync(): Promise<number> {
    const since = encodeURIComponent(this.#since);
    const pages = await listAllPages(this.#get, `/v1/${this.kind}?updated_since=${since}`, this.#key, [3, 7, 1, 100]);
    const watermarks = new Set(pages.map(({ headers }) => headers['x-sync-watermark']));
    // All pages of a sync have the same watermark.
    expect([...watermarks]).toHaveLength(1);
    for (const { body, status } of pages) expect(status, body).toBe(200);
    const received = dataOf(...pages);
    for (const record of received) this.records.set(record.id, record);
    this.#since = String([...watermarks][0]);
    return received.length;
  }

  /** Syncs until it has seen the events up to a watermark: a response can be a second old. */
  async syncTo(watermark: string): Promise<void> {
    do await this.sync();
    while (this.#since < watermark);
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
