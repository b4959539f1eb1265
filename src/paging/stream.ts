import { pipeline, Readable, type Writable } from 'node:stream';
import { constants, createBrotliCompress, createGzip, createZstdCompress } from 'node:zlib';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Partner } from '../access/scope.ts';
import type { Snapshot } from '../access/snapshot.ts';
import { type Format, encodeCursor, nextLink } from '../http/request/page-parameters.ts';
import { ApiError } from '../http/response/errors.ts';
import { WATERMARK_HEADER } from '../http/response/response-cache.ts';
import { chooseEncoding, entityTag, isUnchanged, type Encoding } from '../http/response/send-text.ts';
import type { RouteServices } from '../services.ts';
import { formatTimestamp } from '../timestamp.ts';
import { csvHeader, csvLines, type CsvColumn } from './csv.ts';
import { freeMemory, NO_RECORDS, readBatch, readKey, type Batch, type BatchRequest } from './batch.ts';
import { UNLIMITED, type Listing } from './pages.ts';
import { FIRST_PIECE_RECORDS, MAX_PIECE_BYTES, readPieces, type Piece } from './pieces.ts';
import { isUnchangedSince, readSince } from './since.ts';

/** Records of a stream for each unit of the partner's limit. */
const RECORDS_PER_UNIT = 2_000;

type StreamFormat = Exclude<Format, 'json'>;

const CONTENT_TYPES = { ndjson: 'application/x-ndjson', csv: 'text/csv; charset=utf-8' } as const;

/** Most compressed pieces fit into one. With Node's 16 KiB, each piece would visit the thread pool several times. */
const CHUNK_BYTES = 128 * 1024;

/** The fastest level of each: faster than the database, and 9 times smaller. */
const COMPRESSORS = {
  zstd: () => createZstdCompress({ chunkSize: CHUNK_BYTES, params: { [constants.ZSTD_c_compressionLevel]: 1 } }),
  br: () => createBrotliCompress({ chunkSize: CHUNK_BYTES, params: { [constants.BROTLI_PARAM_QUALITY]: 1 } }),
  gzip: () => createGzip({ chunkSize: CHUNK_BYTES, level: 1 }),
} as const;

interface StreamedList {
  readonly listing: Listing;
  readonly columns: readonly CsvColumn[];
  /** The name of a downloaded file, without its extension. */
  readonly name: string;
}

/**
 * Responds with all records of a list, or the first `limit`. They are read in pieces while they are sent, so a slow
 * reader occupies next to no memory. The first is read together with the head, as a page is: until something was sent,
 * whatever changes is read again. A stream that cannot be completed is cut. Costs a unit of the partner's rate limit
 * for each 2,000 records, at most half of that limit, counted before the body.
 */
export async function sendStream(
  services: RouteServices,
  request: FastifyRequest,
  reply: FastifyReply,
  { listing, columns, name }: StreamedList,
): Promise<FastifyReply> {
  const { clock, cursorSecret } = services;
  const { decodedCursor, cursorBinding, method, headers } = request;
  if (cursorBinding === null || request.format === 'json') throw new Error('no stream was requested');
  const { format } = request;
  const { limit = UNLIMITED } = request.parameters as { limit?: number };
  const { updated_since: updatedSince } = cursorBinding.filters as { updated_since?: string };
  const { after = null, watermark: cursorWatermark = null } = decodedCursor ?? {};
  const { result, snapshot } = await request.server.snapshots.read(request, async (snapshot) => {
    const since = await readSince(snapshot, updatedSince, cursorWatermark);
    const now = formatTimestamp(clock());
    const passed = (await listing.countPassed?.(snapshot, now)) ?? 0;
    const { catalog, partner } = snapshot;
    const { endpoint } = cursorBinding;
    const form = format === 'csv' ? csvHeader(columns) : format;
    const taggedState = [endpoint, form, request.parameters, catalog, partner.scopeEvent, passed];
    const etag = entityTag(JSON.stringify(taggedState));
    const empty = { ...NO_RECORDS, etag, total: 0, until: null };
    if (method === 'HEAD' || isUnchanged(headers['if-none-match'], etag)) return empty;
    if (decodedCursor === null && isUnchangedSince(snapshot, since)) return empty;
    const { total, until } = await readExtent(snapshot, listing, { since, now, after, limit });
    const wanted = { since, after, until, limit: FIRST_PIECE_RECORDS, now, maxBytes: MAX_PIECE_BYTES };
    return { ...(await readBatch(snapshot, listing, wanted)), etag, total, until };
  });
  const { etag, total, until } = result;
  const watermark = cursorWatermark ?? snapshot.watermark;
  const more: Record<string, string> = { [WATERMARK_HEADER]: watermark };
  if (until !== null)
    more['link'] = nextLink(request, encodeCursor(cursorSecret, cursorBinding, { after: until, watermark }));
  const begun = { scope: snapshot.scope, watermark, first: result };
  const pieces = readPieces<Batch>(services, request, begun, async (current, { previous, limit: wanted }) => {
    const since = await readSince(current, updatedSince, watermark);
    const now = formatTimestamp(clock());
    const rest = { since, after: previous.last_key, until, limit: wanted, now, maxBytes: MAX_PIECE_BYTES };
    return readBatch(current, listing, rest);
  });
  const lines = format === 'csv' ? asCsv(linesOf(pieces), columns) : linesOf(pieces);
  return sendBytes(request, reply, { etag, total, format, name, more }, lines);
}

/** The number of records, and the key of the last one if `limit` ends the stream before the list. */
async function readExtent(
  snapshot: Snapshot,
  listing: Listing,
  { since, now, after, limit }: Pick<BatchRequest, 'since' | 'now' | 'after' | 'limit'>,
): Promise<{ total: number; until: string | null }> {
  if (limit === UNLIMITED) return { total: await listing.count(snapshot, { since, now }, after), until: null };
  const { positions, hasMore } = await listing.find(snapshot, { since, now }, after, limit, null);
  const last = positions.at(-1);
  const until = hasMore && last !== undefined ? await readKey(snapshot, listing.records, last) : null;
  return { total: positions.length, until };
}

interface StreamHead {
  readonly etag: string;
  /** The number of records that the partner's limit is charged for, before the body. */
  readonly total: number;
  readonly format: StreamFormat;
  readonly name: string;
  readonly more?: Readonly<Record<string, string>>;
}

/** The cost of reading a number of records, in requests: at least one, at most half of the partner's limit. */
export function unitsOf({ requestsPerMinute }: Pick<Partner, 'requestsPerMinute'>, records: number): number {
  return Math.max(1, Math.min(Math.ceil(records / RECORDS_PER_UNIT), Math.floor(requestsPerMinute / 2)));
}

/**
 * Sends a stream, or 304 if the client has what the tag identifies.
 *
 * @param lines not begun, so that its first piece can be left unread.
 * @throws ApiError 429 if the partner has as many streams as it can have.
 */
export async function sendBytes(
  request: FastifyRequest,
  reply: FastifyReply,
  { etag, total, format, name, more = {} }: StreamHead,
  lines: AsyncGenerator<Uint8Array>,
): Promise<FastifyReply> {
  const { partner, method, headers } = request;
  const isNotModified = isUnchanged(headers['if-none-match'], etag);
  if (!isNotModified && method !== 'HEAD') {
    request.server.openStreams.open(request, reply);
    const units = unitsOf(partner, total);
    // The request itself was counted as one.
    if (units > 1) await request.countMore(reply, units - 1);
  }
  reply.headers({ etag, ...more });
  if (isNotModified) return reply.code(304).send();
  const encoding = chooseEncoding(headers['accept-encoding'], ['zstd', 'br', 'gzip']);
  reply.type(CONTENT_TYPES[format]);
  // Otherwise Node would give an empty stream a Content-Length.
  reply.header('transfer-encoding', 'chunked');
  if (format === 'csv') reply.header('content-disposition', `attachment; filename="${name}.csv"`);
  if (encoding !== 'identity') reply.header('content-encoding', encoding);
  if (method === 'HEAD') return reply.send(Readable.from([]));
  return reply.send(encode(cutOnError(request, lines), encoding, reply.raw));
}

async function* cutOnError(request: FastifyRequest, lines: AsyncGenerator<Uint8Array>) {
  try {
    yield* lines;
  } catch (error) {
    request.server.openStreams.cut(request, error instanceof ApiError ? error.logged : { err: error });
    throw error;
  }
}

function encode(pieces: AsyncIterable<Uint8Array>, encoding: Encoding, response: Writable): NodeJS.ReadableStream {
  const compressor = encoding === 'identity' ? null : COMPRESSORS[encoding]();
  const sink = compressor ?? response;
  // An empty sink has sent every piece that it was given.
  const countUnwritten = (): number => (sink.writableLength === 0 ? plain.readableLength : Infinity);
  // The next piece is read while one is being sent.
  const plain: Readable = Readable.from(freeWritten(pieces, countUnwritten), { highWaterMark: 1 });
  return compressor === null ? plain : pipeline(plain, compressor, () => undefined);
}

/**
 * Frees the memory of each piece once it is written.
 *
 * @param countUnwritten how many of the last pieces may still be needed.
 */
async function* freeWritten(pieces: AsyncIterable<Uint8Array>, countUnwritten: () => number) {
  const held: Uint8Array[] = [];
  const freeSome = (): void => {
    held.splice(0, Math.max(0, held.length - countUnwritten())).forEach(freeMemory);
  };
  for await (const piece of pieces) {
    freeSome();
    held.push(piece);
    yield piece;
    // Twice, since the sink is empty either while it waits for a piece or when it requests the next one.
    freeSome();
  }
}

async function* linesOf(pieces: AsyncIterable<Piece>): AsyncGenerator<Uint8Array> {
  for await (const { bytes, count } of pieces) if (count > 0) yield bytes;
}

async function* asCsv(pieces: AsyncIterable<Uint8Array>, columns: readonly CsvColumn[]): AsyncGenerator<Uint8Array> {
  let header = csvHeader(columns);
  for await (const piece of pieces) {
    yield Buffer.from(header + csvLines(piece, columns));
    header = '';
  }
  if (header !== '') yield Buffer.from(header);
}
