import { setImmediate as nextTick } from 'node:timers/promises';
import type { FastifyRequest } from 'fastify';
import { sql, type RawBuilder, type SqlBool } from 'kysely';
import type { Partner, Scope } from '../access/scope.ts';
import { includesScope } from '../access/visibility/owners.ts';
import type { Engine, OpenDatabase, TextsQuery } from '../database/database.ts';
import { catalogState } from '../database/revision.ts';
import { firstRow, listedKeys, parameter } from '../database/statement.ts';
import { readBearerKey } from '../http/request/request-head.ts';
import { forbidden, unauthorized } from '../http/response/errors.ts';
import type { FoundRecords } from '../index/record-index.ts';
import type { Services } from '../services.ts';
import { formatTimestamp } from '../timestamp.ts';
import { readInOneState, readSince, seenEvents, type SeenEvents } from './one-state.ts';
import {
  ANY_SIZE,
  firstFitting,
  foundColumn,
  inState,
  typeOf,
  type ListedRecords,
  type Listing,
  type PageRequest,
} from './pages.ts';

/** A stream is read in pieces, each in one state of the database. Other requests are served in between. */
export const FIRST_PIECE_RECORDS = 100;
const MAX_PIECE_RECORDS = 1_000;
const USUAL_PIECE_BYTES = 512 * 1024;
/** With one being sent, one waiting, and one as CSV, a slow reader holds less than 8 MiB. */
const MAX_PIECE_BYTES = 2 * 1024 * 1024;

/** A stream of which the first piece was read. */
interface Begun<P> {
  /** The scope that it was read for. */
  readonly scope: Scope;
  readonly watermark: string;
  readonly first: P;
}

/** A part of a stream, with the events by which `readInOneState` proves it. */
export interface StreamPiece extends SeenEvents {
  /** Lines, each with its line feed. */
  readonly bytes: Uint8Array;
  readonly count: number;
  readonly hasMore: boolean;
}

/** Reads the piece after the last one that was yielded, of about `limit` records. */
interface PieceReader<P extends StreamPiece> {
  read(partner: Partner, limit: number): Promise<P>;
  forget(): void;
}

/**
 * Reads the rest of a stream as pages are read: each piece in one state of the database, for a partner whose key is
 * still accepted and whose grants have not ended.
 *
 * @throws an error for any reason to cut the stream.
 */
export async function* readPieces<P extends StreamPiece>(
  services: Services,
  request: FastifyRequest,
  { scope: scopeAtFirst, watermark, first }: Begun<P>,
  reader: PieceReader<P>,
): AsyncGenerator<P> {
  const { database, directory } = services;
  const key = readBearerKey(request.raw.rawHeaders) ?? '';
  let piece = first;
  let limit = FIRST_PIECE_RECORDS;
  for (;;) {
    const { count, bytes, hasMore } = piece;
    request.sentRows += count;
    // Computed before the bytes are sent, since they are freed then.
    if (count > 0)
      limit = Math.max(1, Math.min(Math.floor((USUAL_PIECE_BYTES * count) / bytes.length), MAX_PIECE_RECORDS));
    yield piece;
    if (!hasMore) return;
    await nextTick();
    if ((await directory.findByKey(key)) === null) throw unauthorized();
    const { row } = await readInOneState<P>(database, request, {
      cursorWatermark: watermark,
      forget: () => reader.forget(),
      read: async (partner) => {
        if (!includesScope(partner.scope, scopeAtFirst)) throw forbidden('A grant ended.');
        return reader.read(partner, limit);
      },
    });
    piece = row;
  }
}

interface PieceHead extends SeenEvents {
  readonly last_key: string | null;
}

export interface Piece extends PieceHead, StreamPiece {}

/** A piece without records. */
export const NO_PIECE = { bytes: new Uint8Array(), count: 0, hasMore: false, last_key: null };

/** The records of a list up to the key `until`; null for all of them. */
export async function* readListPieces(
  services: Services,
  request: FastifyRequest,
  listing: Listing,
  begun: Begun<Piece> & { readonly until: string | null; readonly updatedSince: string | undefined },
): AsyncGenerator<Uint8Array> {
  const { database, clock } = services;
  const { until, watermark, updatedSince } = begun;
  let after: string | null = null;
  const pieces = readPieces<Piece>(services, request, begun, {
    forget: () => listing.forget?.(),
    read: async (partner, limit) => {
      const since = await readSince(database, partner.id, updatedSince, watermark);
      return readPiece(database, listing, partner, { since, after, until, limit, now: formatTimestamp(clock()) });
    },
  });
  for await (const { bytes, count, last_key } of pieces) {
    after = last_key;
    if (count > 0) yield bytes;
  }
}

/** Reads the next records, as `readPage` does. */
export async function readPiece(
  database: OpenDatabase,
  listing: Listing,
  { id, scope }: Pick<Partner, 'id' | 'scope'>,
  { since, after, until, limit, now }: PageRequest & { until: string | null },
): Promise<Piece> {
  const { records } = listing;
  const { catalog, positions, hasMore } = await listing.find(scope, since, after, limit, until);
  const read = async (found: FoundRecords['positions'], bytes: number, by: 'list' | 'range'): Promise<Piece> => {
    const [first = null, last = null] = [found[0], found.at(-1)];
    const range = by === 'list' ? { found } : { first };
    const values = { partner_id: id, now, bytes, expected: found.length, last, ...range };
    const name = `${records.name} piece by ${by}`;
    const piece = await database.readTexts(name, () => pieceQuery(database.engine, records, by), values);
    return { ...inState(catalog, piece.head), bytes: piece.bytes, count: piece.count, hasMore };
  };
  const isDense =
    records.foundBy === 'position' && Number(positions.at(-1)) - Number(positions[0]) < 2 * positions.length;
  let found = positions;
  let piece = isDense ? await read(found, MAX_PIECE_BYTES, 'range') : null;
  if (piece?.count !== found.length) piece = await read(found, MAX_PIECE_BYTES, 'list');
  if (piece.count < found.length) {
    found = await firstFitting(database, records, { catalog, found, maxBytes: MAX_PIECE_BYTES });
    piece = await read(found, ANY_SIZE, 'list');
  }
  if (piece.count !== found.length)
    throw new Error(`the index names ${found.length - piece.count} records that are not stored`);
  const last = found.at(-1);
  if (piece.last_key !== null && last !== undefined) listing.remember?.(catalog, piece.last_key, last);
  return { ...piece, hasMore: hasMore || found.length < positions.length };
}

/**
 * Reads the texts of the records in the parameter `found`, or in a range of positions, which takes half the time on
 * PostgreSQL. Nothing is read unless these are as many as the parameter `expected`, since a range can have others in
 * it, and not larger together than the parameter `bytes`.
 */
export function pieceQuery(engine: Engine, listed: ListedRecords, by: 'list' | 'range'): TextsQuery<PieceHead> {
  const { table, key, text, bytes } = listed;
  const isServed = listed.isServed ?? sql<SqlBool>`true`;
  const stored = sql`${sql.table(`catalog.${table}`)} as record`;
  const keyed = sql`${foundColumn(listed)} = `;
  const records =
    by === 'list'
      ? sql`${listedKeys(engine, 'found', typeOf(listed), 'listed')} cross join ${stored} where ${keyed} listed.value`
      : sql`${stored} where record.position between ${parameter('first')} and ${parameter('last')} and ${isServed}`;
  return {
    head: sql<PieceHead>`select seen.*,
      (select ${sql.ref(`record.${key}`)} from ${stored} where ${keyed} ${parameter('last')}) as last_key
      from (${seenEvents}) as seen`,
    texts: sql`select ${by === 'list' ? sql`listed.ordinal` : sql`record.position as ordinal`}, ${text} as text
      from ${records} and (select count(*) = ${parameter('expected')} and sum(${bytes}) <= ${parameter('bytes')} from ${records})`,
  };
}

/** The key of a record in a list. */
export async function readKey(
  database: OpenDatabase,
  listed: ListedRecords,
  found: number | string,
  catalog: string,
): Promise<string> {
  if (typeof found === 'string') return found;
  const row = firstRow(await database.run(`key of ${listed.name}`, () => keyStatement(listed), { position: found }));
  return inState(catalog, row).key;
}

export function keyStatement({ table, key }: ListedRecords): RawBuilder<{ catalog: string; key: string }> {
  return sql`select ${catalogState} as catalog, (select ${sql.ref(key)} from ${sql.table(`catalog.${table}`)}
    where position = ${parameter('position')}) as key`;
}
