import { setImmediate } from 'node:timers/promises';
import type { FastifyRequest } from 'fastify';
import type { Partner, Scope } from '../access/scope.ts';
import type { Snapshot } from '../access/snapshot.ts';
import { includesScope } from '../access/visibility/owners.ts';
import { scheduler } from '../fair-scheduler.ts';
import { callerOf } from '../http/request/pipeline.ts';
import { readBearerKey } from '../http/request/request-head.ts';
import { forbidden, unauthorized } from '../http/response/errors.ts';
import type { RouteServices } from '../services.ts';
import type { Batch } from './batch.ts';

/** A stream is read in pieces, each from one snapshot. Other requests are served in between. */
export const FIRST_PIECE_RECORDS = 100;
const MAX_PIECE_RECORDS = 1_000;
/** A stream of pieces of 512 KiB takes twice the CPU time on SQLite, and half as much again on PostgreSQL. */
const USUAL_PIECE_BYTES = 256 * 1024;
/** With one being sent, one waiting, one read ahead, and one as CSV, a slow reader holds less than 8 MiB. */
export const MAX_PIECE_BYTES = 2 * 1024 * 1024;

/** A part of a stream: lines. */
export type Piece = Pick<Batch, 'bytes' | 'count' | 'hasMore'>;

interface Begun<P> {
  /** The scope that it was read for. */
  readonly scope: Scope;
  readonly watermark: string;
  readonly first: P;
}

interface Continuation<P> {
  readonly previous: P;
  /** The number of records up to there. */
  readonly count: number;
  /** About how many to read. */
  readonly limit: number;
}

/**
 * Reads the rest of a stream as pages are read: each piece from one snapshot, for a partner whose key is still accepted
 * and whose grants have not ended. The next piece is read while one is sent.
 *
 * @throws an error for any reason to cut the stream.
 */
export async function* readPieces<P extends Piece>(
  { directory }: RouteServices,
  request: FastifyRequest,
  { scope: scopeAtFirst, watermark, first }: Begun<P>,
  read: (snapshot: Snapshot, continuation: Continuation<P>) => Promise<P>,
): AsyncGenerator<P> {
  const key = readBearerKey(request.raw.rawHeaders) ?? '';
  const findPartner = async (): Promise<Partner> => {
    const found = await directory.findByKey(key);
    if (found === null) throw unauthorized();
    return found.partner;
  };
  const readNext = async (continuation: Continuation<P>): Promise<P> => {
    await scheduler.turn(request.partner.id);
    await findPartner();
    const readPiece = (snapshot: Snapshot): Promise<P> => {
      if (!includesScope(snapshot.scope, scopeAtFirst)) throw forbidden('A grant ended.');
      return read(snapshot, continuation);
    };
    return (await request.server.snapshots.read(request, readPiece, watermark)).result;
  };
  let piece = first;
  let limit = FIRST_PIECE_RECORDS;
  for (let total = first.count; ; total += piece.count) {
    const { count, bytes, hasMore } = piece;
    request.sentRows += count;
    // Computed before the bytes are sent, since they are freed then.
    if (count > 0)
      limit = Math.max(1, Math.min(Math.floor((USUAL_PIECE_BYTES * count) / bytes.length), MAX_PIECE_RECORDS));
    const continuation = { previous: piece, count: total, limit };
    const next = hasMore ? readNext(continuation) : null;
    // Reported when it is awaited.
    next?.catch(() => undefined);
    // The database works on the next statement while this piece is written. The first does not wait: see `sendStream`.
    if (next !== null && piece !== first) await setImmediate();
    yield piece;
    if (next === null) return;
    piece = await next;
    // The reader may have taken long: what was read ahead is not sent if the partner has changed.
    if ((await findPartner()).scopeEvent !== callerOf(request).partner.scopeEvent) piece = await readNext(continuation);
  }
}
