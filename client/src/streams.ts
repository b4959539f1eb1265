import { UnexpectedAnswerError } from './errors.ts';
import { followCursor, queryString, type Query } from './lists.ts';
import type { RequestOptions, Transport } from './transport.ts';

/**
 * Records in a piece: few enough that a piece which failed is soon read again, and fits into memory. The service counts
 * a request for each 2,000 records begun, so this costs nothing extra.
 */
export const PIECE_RECORDS = 10_000;

export const NDJSON = 'application/x-ndjson';

/** Returns a text as it is. @throws Error if its last line has no end: a proxy may have cut it. */
function wholeLines(text: string): string {
  if (text !== '' && !text.endsWith('\n')) throw new Error('ends within a line: it is not whole');
  return text;
}

/** The lines of a text. @throws Error if the last one has no end. */
export function linesOf(text: string): string[] {
  return wholeLines(text).split('\n').slice(0, -1);
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
  const parts = followCursor(path, { limit: PIECE_RECORDS, ...filters, format }, async (query) => {
    const target = path + queryString(query);
    const { data, headers, info } = await transport.getText({ target, type }, options, wholeLines);
    return { text: data, nextCursor: cursorIn(headers.get('link'), target, info.status) };
  });
  for await (const { text } of parts) yield text;
}

/** The cursor of the next piece; null after the last. Nothing else of the link is used, so no other host is requested. */
function cursorIn(link: string | null, target: string, status: number): string | null {
  const next = /<([^>]*)>; *rel="next"/.exec(link ?? '')?.[1];
  if (next === undefined) return null;
  const cursor = new URLSearchParams(next.slice(next.indexOf('?'))).get('cursor');
  // The list would end early.
  if (cursor === null) throw new UnexpectedAnswerError(status, `${target}: the link to the next piece has no cursor`);
  return cursor;
}
