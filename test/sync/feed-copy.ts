import { isDeepStrictEqual } from 'node:util';
import { expect } from 'vitest';
import type { OpenDatabase } from '../../src/database/database.ts';
import { insertRows } from '../../src/database/rows.ts';
import type { Get, HttpResponse } from '../support/client.ts';
import { changeStored } from '../support/stored-catalog.ts';

/** An item of the feed of changes. */
interface FeedItem {
  readonly kind: string;
  readonly id: string;
  readonly record?: Record<string, unknown>;
  readonly removed?: true;
}

interface FeedMeta {
  readonly next_cursor: string | null;
  readonly reset: boolean;
  readonly watermark: string | null;
  readonly totals: Readonly<Record<string, number>> | null;
}

export interface FeedPage {
  readonly status: number;
  readonly items: readonly FeedItem[];
  readonly meta: FeedMeta | null;
}

/** Reads a page of the feed, as JSON or as lines. */
export async function getChanges(
  get: Get,
  key: string,
  parameters: Readonly<Record<string, string>>,
): Promise<FeedPage> {
  const response = await get(`/v1/changes?${new URLSearchParams(parameters).toString()}`, { key });
  return { status: response.status, ...(response.status === 200 ? parse(response) : { items: [], meta: null }) };
}

function parse({ body, headers }: HttpResponse): Pick<FeedPage, 'items' | 'meta'> {
  if (headers['content-type']?.startsWith('application/json') === true) {
    const { data, meta } = JSON.parse(body) as { data: FeedItem[]; meta: FeedMeta };
    return { items: data, meta };
  }
  const lines = body.split('\n').slice(0, -1);
  const items = lines.map((line) => JSON.parse(line) as FeedItem | { meta: FeedMeta });
  const last = items.pop();
  if (last === undefined || !('meta' in last)) return expect.fail(`the stream has no last line: ${body}`);
  return { items: items as FeedItem[], meta: last.meta };
}

/** A copy that follows the feed, as the guide describes. */
export class FeedCopy {
  readonly records = new Map<string, Record<string, unknown>>();
  readonly #key: string;
  readonly #kinds: string | null;
  #since: string | null = null;
  #cursor: string | null = null;
  #seen = new Set<string>();
  #hasLost = false;
  #isDifferent = false;

  constructor(key: string, kinds: string | null = null) {
    this.#key = key;
    this.#kinds = kinds;
  }

  get watermark(): string | null {
    return this.#since;
  }

  get isAtStart(): boolean {
    return this.#cursor === null;
  }

  /** Whether it had other numbers of records than the last listing's `totals`. */
  get isDifferent(): boolean {
    return this.#isDifferent;
  }

  /** Loses one of its records, as a program with an error does, if it has any. */
  lose(): void {
    const [lost] = this.records.keys();
    this.#hasLost = lost !== undefined && this.records.delete(lost);
  }

  #numberOf(kind: string): number {
    return [...this.records.keys()].filter((key) => key.startsWith(`${kind} `)).length;
  }

  /** Reads the next page. After a failure the listing begins again. */
  async read(
    get: Get,
    options: { readonly limit?: number; readonly format?: 'json' | 'ndjson' } = {},
  ): Promise<FeedPage> {
    const page = await getChanges(get, this.#key, {
      ...(this.#since !== null && { updated_since: this.#since }),
      ...(this.#kinds !== null && { kinds: this.#kinds }),
      ...(this.#cursor !== null && { cursor: this.#cursor }),
      ...(options.limit !== undefined && { limit: String(options.limit) }),
      ...(options.format !== undefined && { format: options.format }),
    });
    const { items, meta } = page;
    if (meta === null) {
      this.#cursor = null;
      this.#seen.clear();
      return page;
    }
    for (const { kind, id, record } of items) {
      const key = `${kind} ${id}`;
      expect(this.#seen.has(key), `${key} is in the listing twice`).toBe(false);
      if (record === undefined) this.records.delete(key);
      else this.records.set(key, record);
      this.#seen.add(key);
    }
    this.#cursor = meta.next_cursor;
    if (meta.next_cursor === null) {
      if (meta.reset) for (const key of this.records.keys()) if (!this.#seen.has(key)) this.records.delete(key);
      expect(meta.watermark).not.toBeNull();
      this.#since = meta.watermark;
      this.#seen.clear();
      const numbers = Object.keys(meta.totals ?? {}).map((kind) => [kind, this.#numberOf(kind)]);
      this.#isDifferent = meta.totals !== null && !isDeepStrictEqual(meta.totals, Object.fromEntries(numbers));
      expect(this.#isDifferent, 'the copy has other numbers of records').toBe(this.#hasLost && meta.totals !== null);
    } else expect(meta).toMatchObject({ watermark: null, totals: null });
    return page;
  }

  /** Reads to the end of a listing. */
  async sync(get: Get, options: Parameters<FeedCopy['read']>[1] = {}): Promise<FeedPage[]> {
    const pages: FeedPage[] = [];
    do {
      const page = await this.read(get, options);
      pages.push(page);
      if (page.status !== 200) break;
    } while (!this.isAtStart);
    return pages;
  }
}

/** The id in a cursor, after which the next page begins; null if it is the start of a kind. */
export function idInCursor(cursor: string): string | null {
  const [, , , id = ''] = Buffer.from(cursor, 'base64url').subarray(6, -16).toString().split(' ');
  return id === '' ? null : id;
}

/** Stores that contracts left owners, with the last release or another one. */
export async function insertDepartures(
  database: OpenDatabase,
  rows: readonly { readonly id: string; readonly owner: string; readonly release?: number }[],
): Promise<void> {
  const { last: release } = await database.kysely
    .selectFrom('catalog.releases')
    .select((eb) => eb.fn.max('number').as('last'))
    .executeTakeFirstOrThrow();
  const departures = rows.map((row) => ({ kind: 'contracts' as const, release, ...row }));
  await changeStored(database, (stored) => insertRows(stored, 'catalog.departures', departures));
}
