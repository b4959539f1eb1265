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
export type Query = Readonly<Record<string, string | number | Date | readonly string[] | undefined | null>>;

/** The records of a list, fetched page by page as you read. Each iteration starts over with new requests. */
export class RecordList<T> implements AsyncIterable<T> {
  readonly #transport: Transport;
  readonly #path: string;
  readonly #query: Query;
  readonly #options: RequestOptions;

  constructor(transport: Transport, path: string, query: Query, options: RequestOptions) {
    this.#transport = transport;
    this.#path = path;
    this.#query = query;
    this.#options = options;
  }

  /** Iterates over the records. */
  async *[Symbol.asyncIterator](): AsyncGenerator<T, void, undefined> {
    for await (const page of this.pages()) yield* page.data;
  }

  /** Iterates over the pages, each with its watermark and the cursor of the next one. */
  async *pages(): AsyncGenerator<Page<T>, void, undefined> {
    let query = this.#query;
    for (;;) {
      const page = await this.#read(query);
      yield page;
      if (page.nextCursor === null) return;
      query = { ...query, cursor: page.nextCursor };
    }
  }

  async #read(query: Query): Promise<Page<T>> {
    const target = this.#path + queryString(query);
    const { data, headers, info } = await this.#transport.get<ListBody<T>>(target, this.#options);
    const watermark = headers.get('x-sync-watermark');
    if (!isListBody(data)) throw new UnexpectedAnswerError(info.status, `${target}: the response is not a list`);
    if (watermark === null)
      throw new UnexpectedAnswerError(
        info.status,
        `${target}: the response has no X-Sync-Watermark header; a proxy may have removed it`,
      );
    return {
      data: data.data,
      nextCursor: data.meta.next_cursor,
      limit: data.meta.limit,
      watermark,
      requestId: info.requestId,
      rateLimit: info.rateLimit,
    };
  }
}

interface ListBody<T> {
  readonly data: T[];
  readonly meta: { readonly next_cursor: string | null; readonly limit: number };
}

/** Without this check, a malformed `next_cursor` would end a listing early, or never. */
function isListBody(body: Partial<ListBody<unknown>>): boolean {
  const cursor = body.meta?.next_cursor;
  return Array.isArray(body.data) && (cursor === null || typeof cursor === 'string');
}

/**
 * Renders `?…`, or an empty string if there are no parameters.
 *
 * @throws RangeError if a date is invalid.
 */
export function queryString(query: Query): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined || value === null) continue;
    if (value instanceof Date) parameters.set(name, value.toISOString());
    else if (typeof value === 'object') parameters.set(name, value.join(','));
    else parameters.set(name, String(value));
  }
  const text = parameters.toString();
  return text === '' ? '' : `?${text}`;
}
