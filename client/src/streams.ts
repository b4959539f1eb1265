import { queryString, type Query } from './lists.ts';
import type { RequestOptions, Transport } from './transport.ts';

/**
 * Records in a piece: few enough that a piece which failed is soon read again, and fits into memory. The service counts
 * a request for each 2,000 records begun, so this costs nothing extra.
 */
export const PIECE_RECORDS = 10_000;

export const NDJSON = 'application/x-ndjson';

/** A list to stream. */
export interface Streamed {
  readonly path: string;
  readonly filters: Query;
  readonly options: RequestOptions;
}

/**
 * The records of a list, read in large pieces as you read on. A piece that fails is read again, as often as other
 * requests are retried, before any of its records is returned.
 */
export async function* streamRecords<T>(transport: Transport, streamed: Streamed): AsyncGenerator<T, void, undefined> {
  for await (const text of pieces(transport, streamed, 'ndjson', NDJSON)) {
    for (const line of text.split('\n').slice(0, -1)) yield JSON.parse(line) as T;
  }
}

/** The same as text of CSV, whole lines at a time, with one header line. */
export async function* streamCsv(transport: Transport, streamed: Streamed): AsyncGenerator<string, void, undefined> {
  let isFirst = true;
  for await (const text of pieces(transport, streamed, 'csv', 'text/csv')) {
    // No name of a column contains a line feed.
    yield isFirst ? text : text.slice(text.indexOf('\n') + 1);
    isFirst = false;
  }
}

async function* pieces(
  transport: Transport,
  { path, filters, options }: Streamed,
  format: string,
  type: string,
): AsyncGenerator<string> {
  let next: string | null = queryString({ limit: PIECE_RECORDS, ...filters, format });
  while (next !== null) {
    const { data, headers } = await transport.getText({ target: path + next, type }, options);
    yield data;
    next = nextOf(path, headers.get('link'));
  }
}

/** The query of the next piece; null after the last. Only the query is taken, so that no other host is requested. */
function nextOf(path: string, link: string | null): string | null {
  const target = link === null ? undefined : /<([^>]*)>; *rel="next"/.exec(link)?.[1];
  const query = target?.startsWith(`${path}?`) === true ? target.slice(path.length) : null;
  return query;
}
