import { UnexpectedAnswerError } from './errors.ts';
import type { RateLimit } from './rate-limit.ts';
import type { RequestOptions, Transport } from './transport.ts';

/** One page of a list. */
export interface Page<T> {
  readonly data: T[];
  /** The `cursor` of the next page; null on the last page. */
  readonly nextCursor: string | null;
  /** The maximum number of records per page. */
  readonly limit: number;
  /** Pass it as `updated_since` in the next sync. The same on every page of a listing. */
  readonly watermark: string;
  readonly requestId: string | null;
  readonly rateLimit: RateLimit | null;
}

/** Query parameters. Undefined and null are omitted, `Date`s sent as ISO 8601, lists joined with commas. */
export type Query = Readonly<Record<string, string | number | boolean | Date | readonly string[] | undefined | null>>;

/** The records of a list, fetched page by page as you read. Each iteration starts over with new requests. */
export interface RecordList<T> extends AsyncIterable<T> {
  /** Iterates over the records. */
  [Symbol.asyncIterator](): AsyncGenerator<T, void, undefined>;
  /** Iterates over the pages, each with its watermark and the cursor of the next one. */
  pages(): AsyncGenerator<Page<T>, void, undefined>;
}

export function listRecords<T>(
  transport: Transport,
  path: string,
  filters: Query,
  options: RequestOptions,
): RecordList<T> {
  const pages = (): AsyncGenerator<Page<T>, void, undefined> =>
    followCursor(path, filters, (query) => readPage(transport, path + queryString(query), options));
  return {
    pages,
    async *[Symbol.asyncIterator]() {
      for await (const page of pages()) yield* page.data;
    },
  };
}

/**
 * Reads the parts of a listing as they are needed, each with the cursor of the part before it.
 *
 * @throws UnexpectedAnswerError if a cursor is repeated, before the part that has it is returned.
 */
export async function* followCursor<Part extends { readonly nextCursor: string | null }>(
  path: string,
  filters: Query,
  read: (query: Query) => Promise<Part>,
): AsyncGenerator<Part, void, undefined> {
  const expectNewCursor = newCursorCheck(path, filters['cursor']);
  for (let query: Query | null = filters; query !== null;) {
    const part = await read(query);
    expectNewCursor(part.nextCursor);
    yield part;
    query = part.nextCursor === null ? null : { ...query, cursor: part.nextCursor };
  }
}

/**
 * Returns a function for each next cursor of a listing. It throws UnexpectedAnswerError if the listing had the cursor
 * before: it would never end.
 */
export function newCursorCheck(path: string, first: unknown): (cursor: string | null) => void {
  const seen = new Set([first]);
  return (cursor) => {
    if (cursor !== null && seen.has(cursor))
      throw new UnexpectedAnswerError(200, `${path}: the response repeats a cursor, so the listing would never end`);
    seen.add(cursor);
  };
}

async function readPage<T>(transport: Transport, target: string, options: RequestOptions): Promise<Page<T>> {
  type Body = Partial<{ data: T[]; meta: { next_cursor: string | null; limit: number } }>;
  const { data: body, headers, info } = await transport.get<Body>(target, options);
  const { data, meta } = body;
  // A malformed cursor would end a listing early, or never.
  if (!Array.isArray(data) || !(meta?.next_cursor === null || typeof meta?.next_cursor === 'string'))
    throw new UnexpectedAnswerError(info.status, `${target}: the response is not a list`);
  const watermark = headers.get('x-sync-watermark');
  if (watermark === null)
    throw new UnexpectedAnswerError(
      info.status,
      `${target}: the response has no X-Sync-Watermark header; a proxy may have removed it`,
    );
  const { requestId, rateLimit } = info;
  return { data, nextCursor: meta.next_cursor, limit: meta.limit, watermark, requestId, rateLimit };
}

/**
 * Renders `?…`, or an empty string if there are no parameters.
 *
 * @throws RangeError if a date is invalid.
 */
export function queryString(query: Query): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== null);
  // The text of a list is its items, joined with commas.
  const parameters = given.map(([name, value]) => [name, value instanceof Date ? value.toISOString() : String(value)]);
  return given.length === 0 ? '' : `?${new URLSearchParams(parameters).toString()}`;
}
