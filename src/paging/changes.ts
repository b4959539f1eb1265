import { sql, type RawBuilder } from 'kysely';
import type { Snapshot } from '../access/snapshot.ts';
import { scopeKey, scopeValues, visibleIds } from '../access/visibility/scope-sql.ts';
import type { Query } from '../database/database.ts';
import { validationFailed, type ApiError } from '../http/response/errors.ts';
import type { IndexedKind } from '../kinds.ts';
import { readBatch, type BatchRequest } from './batch.ts';
import type { ListedDepartures } from './departed-records.ts';
import type { Listing } from './pages.ts';
import { MAX_PIECE_BYTES, type Piece } from './pieces.ts';
import { isUnchangedSince, readSince, type Since } from './since.ts';

export interface FeedKind {
  readonly kind: IndexedKind;
  /** Its records as lines of the feed; since a watermark, those whose detail changed or that became visible. */
  readonly listing: Listing;
  /** The number of records that the partner sees. */
  readonly count: (snapshot: Snapshot) => Promise<number>;
}

/** Why a listing of changes has every record, so that the client must drop what it does not list. */
export type CompleteReason = 'first' | 'unknown_watermark' | 'catalog' | 'partner';

export interface FeedPosition {
  /** The index of the kind among those requested. */
  readonly kind: number;
  /** Null for the start of the kind. */
  readonly after: string | null;
}

export const FEED_START: FeedPosition = { kind: 0, after: null };

/** The number of records of each kind. */
export type Totals = Readonly<Partial<Record<IndexedKind, number>>>;

/** Part of the feed: records as `{"kind":…,"id":…,"record":…}`, removals as `{"kind":…,"id":…,"removed":true}`. */
export interface ChangesPiece extends Piece {
  /** Null at the end of the listing. */
  readonly next: FeedPosition | null;
  /** Null if the listing has only changes. */
  readonly complete: CompleteReason | null;
  /** The digest of the snapshot that all pieces so far were read from; null if there were several. */
  readonly snapshotDigest: string | null;
  /** The numbers of records that the partner sees, at the end of a listing of one snapshot; null otherwise. */
  readonly totals: Totals | null;
}

/** A listing of changes since a watermark, or of everything. */
export interface ChangesListing {
  readonly kinds: readonly FeedKind[];
  readonly updatedSince: string | undefined;
  /** The first page's watermark; null on the first page. */
  readonly watermark: string | null;
  /** Whether the first page was that of a complete listing; null on the first page, which decides. */
  readonly isComplete: boolean | null;
  /** That of the piece before; undefined on the first page. */
  readonly snapshotDigest: string | null | undefined;
  readonly departures: ListedDepartures;
}

/** The decision whether a listing is complete, and why. */
export interface FeedState {
  readonly complete: CompleteReason | null;
  /** Null if the listing is complete. */
  readonly since: Since | null;
}

/** 400: an incremental listing cannot continue, since removals that it has not listed yet may be unknown. */
export function outdatedListing(): ApiError {
  return validationFailed(
    'This listing cannot be continued: removals since its "updated_since" were deleted, or your access changed. Begin ' +
      'again: send the same "updated_since" without "cursor".',
  );
}

/**
 * Decides whether a listing is complete, by stored values only. It is without a watermark, with one that was not issued to
 * this client or is no longer in the log, after a reset, or if the partner may have lost sight of records without departures.
 *
 * Since a watermark, it reads the primary while that is up. So its snapshot is not before one that another process has
 * shown to the client, whose copy would otherwise have other numbers of records than `totals`.
 *
 * @throws ApiError 400 if it began as an incremental one.
 */
export async function readFeedState(
  snapshot: Snapshot,
  { updatedSince, watermark, isComplete }: Pick<ChangesListing, 'updatedSince' | 'watermark' | 'isComplete'>,
): Promise<FeedState> {
  const since = await readSince(snapshot, updatedSince, watermark, 'known');
  const complete = since === null ? 'first' : reasonOf(since);
  if (isComplete === false && complete !== null) throw outdatedListing();
  if (complete === null && isComplete !== true) return { complete, since };
  return { complete: complete ?? 'first', since: null };
}

function reasonOf({ isWatermark, from, reset_at, narrows_at }: Since): CompleteReason | null {
  if (!isWatermark) return 'unknown_watermark';
  if (from <= reset_at) return 'catalog';
  return from <= narrows_at ? 'partner' : null;
}

/**
 * Reads the next changes after a position, at most `limit` and possibly fewer or none.
 *
 * @throws OtherSnapshotError if a statement saw another snapshot.
 */
export async function readChanges(
  snapshot: Snapshot,
  listing: ChangesListing,
  { complete, since }: FeedState,
  { position, limit, now }: { readonly position: FeedPosition; readonly limit: number; readonly now: string },
): Promise<ChangesPiece> {
  const { digest } = snapshot;
  const { kinds, snapshotDigest: before = digest } = listing;
  const snapshotDigest = before === digest ? digest : null;
  const parts: Uint8Array[] = [];
  let count = 0;
  // Nearly all requests of a client that follows the feed: nothing has changed, so nothing is searched.
  let next: FeedPosition | null = isUnchangedSince(snapshot, since) ? null : position;
  while (next !== null && count < limit) {
    const { kind, after }: FeedPosition = next;
    const feedKind = kinds[kind];
    if (feedKind === undefined) throw new Error(`the feed has no kind ${kind}`);
    const request = { since, after, limit: limit - count, now, maxBytes: MAX_PIECE_BYTES };
    const part = await readPart(snapshot, feedKind, listing.departures, request);
    parts.push(part.bytes);
    count += part.count;
    const nextKind: FeedPosition | null = kind + 1 < kinds.length ? { kind: kind + 1, after: null } : null;
    next = part.after === null ? nextKind : { kind, after: part.after };
    if (part.after !== null) break;
  }
  const totals = next === null && snapshotDigest !== null ? await countAll(snapshot, kinds) : null;
  return { bytes: joined(parts), count, hasMore: next !== null, next, complete, snapshotDigest, totals };
}

async function countAll(snapshot: Snapshot, kinds: readonly FeedKind[]): Promise<Totals> {
  const totals: Partial<Record<IndexedKind, number>> = {};
  for (const { kind, count } of kinds) totals[kind] = await count(snapshot);
  return totals;
}

/** Without a copy of a single part. */
function joined(parts: readonly Uint8Array[]): Uint8Array {
  const [only] = parts;
  return parts.length === 1 && only !== undefined ? only : Buffer.concat(parts);
}

/**
 * The next changes of one kind: removals and records, merged in the order of their ids. `after` is the id after which the kind
 * continues; null if this was all of it.
 */
async function readPart(snapshot: Snapshot, feedKind: FeedKind, departures: ListedDepartures, request: BatchRequest) {
  const { kind, listing } = feedKind;
  const { since, after, limit } = request;
  // A complete listing has no removals.
  const departed = since === null ? null : await departures.find(snapshot, kind, since, after, limit);
  const removed = departed === null ? [] : await withoutVisible(snapshot, kind, departed.ids);
  const until = departed?.until ?? null;
  const records = await readBatch(snapshot, listing, { ...request, until });
  const lastRecord = records.hasMore ? records.last_key : null;
  if (removed.length === 0) return { bytes: records.bytes, count: records.count, after: lastRecord ?? until };
  const removals = removed.map((id) => ({ id, text: `${beginningOf(kind)}${id}","removed":true}` }));
  const lines = [...linesOf(records.bytes, kind), ...removals]
    .filter((line) => lastRecord === null || line.id <= lastRecord)
    .sort((one, other) => (one.id < other.id ? -1 : 1));
  const page = lines.slice(0, limit);
  return {
    bytes: Buffer.from(page.map(({ text }) => `${text}\n`).join('')),
    count: page.length,
    after: page.length < lines.length ? (page.at(-1)?.id ?? null) : (lastRecord ?? until),
  };
}

async function withoutVisible(snapshot: Snapshot, kind: IndexedKind, ids: readonly string[]) {
  if (ids.length === 0) return [];
  const rows = await snapshot.run(visibleQuery(snapshot, kind, ids));
  const seenNow = new Set(rows.map(({ id }) => id));
  return ids.filter((id) => !seenNow.has(id));
}

/** Selects those of some ids that a scope shows. */
export function visibleQuery(
  { engine, scope }: Pick<Snapshot, 'engine' | 'scope'>,
  kind: IndexedKind,
  ids: readonly string[],
): Query<{ id: string }> {
  const key = scopeKey(kind, scope);
  return {
    statementKey: `visible ${kind}, ${key}`,
    columns: ['id'],
    build: () => visibleIds(engine, kind, key),
    values: { ...scopeValues(scope), ids },
  };
}

/** The beginning of each line of a kind, up to its id. Ids need no escaping. */
const beginningOf = (kind: IndexedKind): string => `{"kind":"${kind}","id":"`;

function linesOf(bytes: Uint8Array, kind: IndexedKind) {
  const start = beginningOf(kind).length;
  const texts = Buffer.from(bytes).toString().split('\n').slice(0, -1);
  return texts.map((text) => ({ id: text.slice(start, text.indexOf('"', start)), text }));
}

/** A line of the feed. The record is its last field, so that a reader can store it without parsing. */
export function recordLine(kind: IndexedKind, text: RawBuilder<string>): RawBuilder<string> {
  return sql<string>`${sql.lit(beginningOf(kind))} || record.id || '","record":' || ${text} || '}'`;
}
