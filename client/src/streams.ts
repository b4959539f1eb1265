import { queryString, type Query } from './lists.ts';
import type { RequestOptions, Transport } from './transport.ts';

/**
 * Records in a piece: few enough that a piece which failed is soon read again, and fits into memory. The service counts
 * a request for each 2,000 records begun, so this costs nothing extra.
 */
export const PIECE_RECORDS = 10_000;

export const NDJSON = 'application/x-ndjson';

/** The lines of a text whose last line, too, ends with a line feed. */
export function linesOf(text: string): string[] {
  return text.split('\n').slice(0, -1);
}

/**
 * The records of a list, read in large pieces as you read on. A piece that fails is read again, as often as other
 * requests are retried, before any of its records is returned.
 */
export async function* streamRecords<T>(...list: StreamArguments): AsyncGenerator<T, void, undefined> {
  for await (const text of pieces('ndjson', NDJSON, ...list))
    for (const line of linesOf(text)) yield JSON.parse(line) as T;
}

/** The same as text of CSV, whole lines at a time, with one header line. */
export async function* streamCsv(...list: StreamArguments): AsyncGenerator<string, void, undefined> {
  let isFirst = true;
  for await (const text of pieces('csv', 'text/csv', ...list)) {
    // No name of a column contains a line feed.
    yield isFirst ? text : text.slice(text.indexOf('\n') + 1);
    isFirst = false;
  }
}

type StreamArguments = [transport: Transport, path: string, filters: Query, options: RequestOptions];

async function* pieces(
  format: string,
  type: string,
  ...[transport, path, filters, options]: StreamArguments
): AsyncGenerator<string> {
  let next: string | null = queryString({ limit: PIECE_RECORDS, ...filters, format });
  while (next !== null) {
    const { data, headers } = await transport.getText({ target: path + next, type }, options, (text) => text);
    yield data;
    next = nextOf(path, headers.get('link'));
  }
}

/** The query of the next piece; null after the last. Only the query is taken, so that no other host is requested. */
function nextOf(path: string, link: string | null): string | null {
  const target = /<([^>]*)>; *rel="next"/.exec(link ?? '')?.[1] ?? '';
  return target.startsWith(`${path}?`) ? target.slice(path.length) : null;
}
