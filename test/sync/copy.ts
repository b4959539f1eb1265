import { expect } from 'vitest';
import { walkList, type Ask } from '../support/client.ts';

export const KINDS = ['contracts', 'suppliers', 'solicitations'] as const;

type Kind = (typeof KINDS)[number];
export type Served = Record<string, unknown> & { id: string };

const EPOCH = '1970-01-01T00:00:00.000Z';

/** A partner's copy of one kind, synced as the guide describes. */
export class Copy {
  readonly records = new Map<string, Served>();
  readonly kind: Kind;
  readonly #key: string;
  readonly #get: Ask;
  #since = EPOCH;

  constructor(kind: Kind, key: string, get: Ask) {
    this.kind = kind;
    this.#key = key;
    this.#get = get;
  }

  /** Runs one incremental sync; returns the number of records it received. */
  async sync(): Promise<number> {
    const since = encodeURIComponent(this.#since);
    const pages = await walkList(this.#get, `/v1/${this.kind}?updated_since=${since}`, this.#key, [3, 7, 1, 100]);
    const watermarks = new Set(pages.map(({ headers }) => headers['x-sync-watermark']));
    // All pages of a sync have the same watermark.
    expect([...watermarks]).toHaveLength(1);
    let received = 0;
    for (const { body, status } of pages) {
      expect(status, body).toBe(200);
      for (const record of (JSON.parse(body) as { data: Served[] }).data) {
        this.records.set(record.id, record);
        received += 1;
      }
    }
    this.#since = String([...watermarks][0]);
    return received;
  }

  /** All records, by a full listing, which can use another client than the copy's. */
  async walkAll(get = this.#get): Promise<Served[]> {
    const pages = await walkList(get, `/v1/${this.kind}`, this.#key, [100]);
    return pages.flatMap(({ body }) => (JSON.parse(body) as { data: Served[] }).data);
  }
}
