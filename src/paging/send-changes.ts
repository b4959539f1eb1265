import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Partner } from '../access/scope.ts';
import type { Snapshot } from '../access/snapshot.ts';
import { DEFAULT_LIMIT, encodeCursor, nextLink } from '../http/request/page-parameters.ts';
import { forbidden } from '../http/response/errors.ts';
import { sendResponse } from '../http/response/response-cache.ts';
import { entityTag, isUnchanged } from '../http/response/send-text.ts';
import type { IndexedKind } from '../kinds.ts';
import type { RouteServices } from '../services.ts';
import { formatTimestamp } from '../timestamp.ts';
import {
  FEED_START,
  outdatedListing,
  readChanges,
  readFeedState,
  type ChangesListing,
  type ChangesPiece,
  type CompleteReason,
  type FeedKind,
  type FeedPosition,
  type FeedState,
} from './changes.ts';
import { ListedDepartures, MAX_DEPARTURES } from './departed-records.ts';
import { NO_RECORDS, pageOfLines } from './batch.ts';
import { UNLIMITED } from './pages.ts';
import { FIRST_PIECE_RECORDS, readPieces } from './pieces.ts';
import { isUnchangedSince } from './since.ts';
import { sendBytes, unitsOf } from './stream.ts';

type ChangesRequest = ReturnType<typeof readRequest>;

/** Responds with changes: a page as JSON, or a stream of lines. */
export async function sendChanges(
  services: RouteServices,
  request: FastifyRequest,
  reply: FastifyReply,
  kinds: readonly FeedKind[],
): Promise<FastifyReply> {
  const changes = readRequest(request, kinds);
  return request.format === 'json'
    ? sendPage(services, request, reply, changes)
    : sendChangesStream(services, request, reply, changes);
}

function readRequest(request: FastifyRequest, feedKinds: readonly FeedKind[]) {
  const { decodedCursor: cursor, cursorBinding: binding, parameters } = request;
  if (binding === null) throw new Error('the feed of changes takes a cursor');
  const { kinds, updated_since: updatedSince } = parameters as {
    kinds?: readonly IndexedKind[];
    updated_since?: string;
  };
  const began = cursor === null ? null : parsePosition(cursor.after);
  return {
    position: began ?? FEED_START,
    binding,
    isFirstPage: began === null,
    /**
     * Limits the listing to the kinds that the partner can read.
     *
     * @throws ApiError 403 if the partner can read none of the kinds, or not one that was requested.
     * @throws ApiError 400 if it can no longer read a kind that only its cursor names.
     */
    listingFor(partner: Partner): ChangesListing {
      const all = feedKinds.map(({ kind }) => kind);
      // Only the partner of the snapshot decides: this process may not know yet that it can read more kinds.
      const requested = began?.kinds ?? kinds ?? all.filter((kind) => isAllowed(partner, kind));
      // Without the cursor, the same request lists the kinds that the partner can read by now.
      if (began !== null && kinds === undefined && !requested.every((kind) => isAllowed(partner, kind)))
        throw outdatedListing();
      checkKinds(partner, requested);
      return {
        kinds: feedKinds.filter(({ kind }) => requested.includes(kind)),
        updatedSince,
        watermark: cursor?.watermark ?? null,
        isComplete: began?.isComplete ?? null,
        snapshotDigest: began?.snapshotDigest,
        departures: new ListedDepartures(requested, began?.hasManyRemovals ?? false),
      };
    },
  };
}

const isAllowed = ({ kinds }: Pick<Partner, 'kinds'>, kind: IndexedKind): boolean => kinds === null || kinds.has(kind);

function checkKinds(partner: Pick<Partner, 'kinds'>, requested: readonly IndexedKind[]): void {
  const refused = requested.filter((kind) => !isAllowed(partner, kind));
  if (refused.length === 0 && requested.length > 0) return;
  const named = refused.length === 0 ? 'contracts, solicitations and suppliers' : refused.join(', ');
  throw forbidden(`This partner has no access to ${named}.`);
}

/**
 * Responds with one page, which is not cached: most are requested once, and one with the `totals` of a snapshot must not be
 * sent after another process has shown the client a later one.
 */
async function sendPage(
  services: RouteServices,
  request: FastifyRequest,
  reply: FastifyReply,
  changes: ChangesRequest,
): Promise<FastifyReply> {
  const { clock } = services;
  const { position } = changes;
  const { limit = DEFAULT_LIMIT } = request.parameters as { limit?: number };
  const now = formatTimestamp(clock());
  const { result, snapshot } = await request.server.snapshots.read(request, async (snapshot) => {
    const listing = changes.listingFor(snapshot.partner);
    const state = await readFeedState(snapshot, listing);
    return { ...(await readChanges(snapshot, listing, state, { position, limit, now })), listing };
  });
  const { bytes, count, listing, complete } = result;
  const watermark = listing.watermark ?? snapshot.watermark;
  const isComplete = complete !== null;
  countComplete(services, request, changes, complete);
  // The request was counted as one, which pays for one statement.
  await charge(request, reply, { from: 0, to: listing.departures.examined - MAX_DEPARTURES });
  const { next_cursor, ...end } = endOf(services, changes, { ...listing, watermark, isComplete }, result);
  return sendResponse(request, reply, {
    body: pageOfLines(bytes, { next_cursor, limit, ...end }),
    rows: count,
    ...(next_cursor !== null && { link: nextLink(request, next_cursor) }),
  });
}

/** Responds with a line for each change, and a last one with the watermark, or with the cursor of the next piece. */
async function sendChangesStream(
  services: RouteServices,
  request: FastifyRequest,
  reply: FastifyReply,
  changes: ChangesRequest,
): Promise<FastifyReply> {
  const { clock } = services;
  const { position, binding } = changes;
  const { parameters, method, headers } = request;
  const { limit = UNLIMITED } = parameters as { limit?: number };
  /** @param left how many records the stream can still have. */
  const readFrom = async (
    snapshot: Snapshot,
    listing: ChangesListing,
    state: FeedState,
    { from, left, maxRecords }: { from: FeedPosition; left: number; maxRecords: number },
  ): Promise<ChangesPiece> => {
    const wanted = { position: from, limit: Math.min(maxRecords, left), now: formatTimestamp(clock()) };
    const piece = await readChanges(snapshot, listing, state, wanted);
    return { ...piece, hasMore: piece.next !== null && piece.count < left };
  };
  const { result, snapshot } = await request.server.snapshots.read(request, async (snapshot) => {
    const { catalog, partner } = snapshot;
    const listing = changes.listingFor(partner);
    const state = await readFeedState(snapshot, listing);
    const { complete, since } = state;
    const etag = entityTag(JSON.stringify([binding.endpoint, 'ndjson', parameters, catalog, partner.scopeEvent]));
    if (method === 'HEAD' || isUnchanged(headers['if-none-match'], etag))
      return { ...NO_RECORDS, listing, etag, total: 0, complete, next: null, snapshotDigest: null, totals: null };
    let total = 0;
    for (const [kind, { listing: records }] of listing.kinds.entries()) {
      if (kind < position.kind || isUnchangedSince(snapshot, since)) continue;
      const after = kind === position.kind ? position.after : null;
      total += await records.count(snapshot, { since, now: formatTimestamp(clock()) }, after);
    }
    const wanted = { from: position, left: limit, maxRecords: FIRST_PIECE_RECORDS };
    const first = await readFrom(snapshot, listing, state, wanted);
    return { ...first, listing, etag, total: Math.min(total, limit) };
  });
  const isComplete = result.complete !== null;
  countComplete(services, request, changes, result.complete);
  const watermark = result.listing.watermark ?? snapshot.watermark;
  const begun = { ...result.listing, watermark, isComplete };
  async function* lines(): AsyncGenerator<Uint8Array> {
    let last: ChangesPiece = result;
    const pieces = readPieces<ChangesPiece>(
      services,
      request,
      { scope: snapshot.scope, watermark, first: result },
      async (current, { previous, count, limit: maxRecords }) => {
        checkKinds(current.partner, kindsOf(begun));
        const continued = { ...begun, snapshotDigest: previous.snapshotDigest };
        const wanted = { from: previous.next ?? FEED_START, left: limit - count, maxRecords };
        return readFrom(current, continued, await readFeedState(current, continued), wanted);
      },
    );
    let charged = result.total;
    for await (const piece of pieces) {
      last = piece;
      const examined = result.total + begun.departures.examined;
      await charge(request, reply, { from: charged, to: examined });
      charged = examined;
      if (piece.count > 0) yield piece.bytes;
    }
    yield Buffer.from(`${JSON.stringify({ meta: endOf(services, changes, begun, last) })}\n`);
  }
  return sendBytes(
    request,
    reply,
    { etag: result.etag, total: result.total, format: 'ndjson', name: 'changes' },
    lines(),
  );
}

/** Charges the partner's limit for the records and departures that were examined since the last charge. */
async function charge(
  request: FastifyRequest,
  reply: FastifyReply,
  { from, to }: { readonly from: number; readonly to: number },
): Promise<void> {
  const units = unitsOf(request.partner, to) - unitsOf(request.partner, from);
  if (units > 0) await request.countMore(reply, units);
}

/** Counts and logs a complete listing on its first page: the client reads everything again. */
function countComplete(
  { logger }: RouteServices,
  { server, id, partner, method }: FastifyRequest,
  { isFirstPage }: ChangesRequest,
  reason: CompleteReason | null,
): void {
  if (reason === null || !isFirstPage || method === 'HEAD') return;
  const { completeListings } = server.openStreams;
  completeListings.set(reason, (completeListings.get(reason) ?? 0) + 1);
  logger.info({ requestId: id, partner: partner.name, reason }, 'complete listing of changes');
}

const kindsOf = ({ kinds }: ChangesListing): IndexedKind[] => kinds.map(({ kind }) => kind);

/** The `meta` of a page, without `limit`, or of a stream: the cursor of the next one, or else the watermark and totals. */
function endOf(
  { cursorSecret }: RouteServices,
  { binding }: ChangesRequest,
  listing: ChangesListing & { readonly watermark: string; readonly isComplete: boolean },
  { next, snapshotDigest, totals }: ChangesPiece,
) {
  const { watermark, isComplete: reset } = listing;
  // The watermark is last: scripts without a JSON parser read it there.
  if (next === null) return { next_cursor: null, reset, totals, watermark };
  // Later pages keep the mode and the kinds of the first, and know whether all are of one snapshot.
  const partialMode = listing.departures.areMany ? 'many' : 'changes';
  const mode = reset ? 'complete' : partialMode;
  const after = [mode, kindsOf(listing).join(), next.kind, next.after ?? '', snapshotDigest ?? ''].join(' ');
  return { next_cursor: encodeCursor(cursorSecret, binding, { after, watermark }), reset, totals, watermark: null };
}

function parsePosition(text: string) {
  const [mode, kinds = '', kind, after = '', snapshotDigest = ''] = text.split(' ');
  return {
    isComplete: mode === 'complete',
    hasManyRemovals: mode === 'many',
    kinds: kinds.split(',') as IndexedKind[],
    kind: Number(kind),
    after: after === '' ? null : after,
    // Null in cursors of version 2.0, too.
    snapshotDigest: snapshotDigest === '' ? null : snapshotDigest,
  };
}
