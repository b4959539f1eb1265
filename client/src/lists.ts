import { UnexpectedAnswerError } from './errors.ts';
import type { RateLimit } from './rate-limit.ts';
import type { RequestOptions, Transport } from './transport.ts';

/** A page of a list. */
export interface Page<T> {
  readonly data: T[];
  /** The `cursor` of the next page; null on the last. */
  readonly nextCursor: string | null;
  /** The size of a page. */
  readonly limit: number;
  /** What to ask with as `updated_since` next time; the same on all pages of a walk. */
  readonly watermark: string;
  readonly requestId: string | null;
  readonly rateLimit: RateLimit | null;
}

/** What a list may be asked with: undefined and null are left out, instants may be dates, names may be lists. */
export type Query = Readonly<Record<string, string | number | Date | readonly string[] | undefined | null>>;

/** The records of a list, page after page, as they are asked for. May be walked more than once. */
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

  /** Each record. */
  async *[Symbol.asyncIterator](): AsyncGenerator<T, void, undefined> {
    for await (const page of this.pages()) yield* page.data;
  }

  /** Each page, with its watermark and what to go on with. */
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
    if (!isListBody(data)) throw new UnexpectedAnswerError(info.status, `${target}: the answer is no list`);
    if (watermark === null)
      throw new UnexpectedAnswerError(info.status, `${target}: a proxy took away the header X-Sync-Watermark`);
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

/** Otherwise a walk would end early, or never. */
function isListBody(body: Partial<ListBody<unknown>>): boolean {
  const cursor = body.meta?.next_cursor;
  return Array.isArray(body.data) && (cursor === null || typeof cursor === 'string');
}

/**
 * `?…`, or nothing.
 *
 * @throws RangeError where a date is invalid.
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
