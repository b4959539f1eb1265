import { sql, type RawBuilder } from 'kysely';
import type { Partner, Scope } from '../access/scope.ts';
import { compareBytewise } from '../bytewise.ts';
import type { Engine, OpenDatabase, Query } from '../database/database.ts';
import { catalogState } from '../database/revision.ts';
import { firstRow } from '../database/statement.ts';
import type { IndexedKind } from '../kinds.ts';
import type { ListedDepartures } from './departed-records.ts';
import { inState, type Listing, type PageRequest } from './pages.ts';
import { readPiece, type StreamPiece } from './pieces.ts';
import { lastEvent, readSince, seenEvents, type SeenEvents, type Since } from './one-state.ts';

/** A kind of the feed of changes. */
export interface FeedKind {
  readonly kind: IndexedKind;
  /** Its records as lines of the feed; since a watermark, those whose detail changed or that became visible. */
  readonly listing: Listing;
  /** Selects the `id`s in the parameter `ids` that a scope sees now. */
  readonly visible: (engine: Engine, scope: Scope) => Query<{ id: string }>;
}

/** Why a listing of changes has every record, so that the client must drop what it does not list. */
export type CompleteReason = 'first' | 'unknown_watermark' | 'catalog' | 'partner';

/** A position in a listing of changes: a kind, and an id in it. */
export interface FeedPosition {
  /** The index of the kind among those requested. */
  readonly kind: number;
  /** Null for the start of the kind. */
  readonly after: string | null;
}

export const FEED_START: FeedPosition = { kind: 0, after: null };

/** Part of the feed: records as `{"kind":…,"id":…,"record":…}`, removals as `{"kind":…,"id":…,"removed":true}`. */
export interface ChangesPiece extends StreamPiece {
  /** Null at the end of the listing. */
  readonly next: FeedPosition | null;
  /** Null if the listing has only changes. */
  readonly complete: CompleteReason | null;
}

/** A listing of changes since a watermark, or of everything. */
export interface ChangesListing {
  readonly kinds: readonly FeedKind[];
  readonly updatedSince: string | undefined;
  /** The first page's watermark; null on the first page. */
  readonly watermark: string | null;
  /** Whether the first page was that of a complete listing; null on the first page, which decides. */
  readonly isComplete: boolean | null;
  readonly departures: ListedDepartures;
}

/** The decision whether a listing is complete, with the events by which `readInOneState` proves it. */
interface FeedState {
  readonly seen: SeenEvents;
  readonly complete: CompleteReason | null;
  /** Null if the listing is complete. */
  readonly since: Since | null;
}

/** An incremental listing cannot continue: removals that it has not listed yet may be unknown. */
export class OutdatedListingError extends Error {
  override name = 'OutdatedListingError';
}

/**
 * Decides whether a listing is complete, by stored values only. It is if the client sent no watermark, one that was not
 * issued to it, or one since when departures were deleted or lost, or the partner may have lost sight of more.
 *
 * @throws OutdatedListingError if it began as an incremental one.
 */
export async function readFeedState(
  database: OpenDatabase,
  partnerId: number,
  { updatedSince, watermark, isComplete }: Omit<ChangesListing, 'departures'>,
): Promise<FeedState> {
  const since = await readSince(database, partnerId, updatedSince, watermark);
  const complete = since === null ? 'first' : reasonOf(since);
  if (isComplete === false && complete !== null) throw new OutdatedListingError();
  const seen = since?.seen ?? firstRow(await database.run('seen events', () => seenEvents, { partner_id: partnerId }));
  if (complete === null && isComplete !== true) return { seen, complete, since };
  return { seen, complete: complete ?? 'first', since: null };
}

function reasonOf({ isWatermark, from, seen }: Since): CompleteReason | null {
  if (!isWatermark) return 'unknown_watermark';
  if (from <= seen.complete_before) return 'catalog';
  return from <= seen.narrowed_at ? 'partner' : null;
}

/**
 * Reads the next changes after a position, at most `limit` and possibly fewer or none, all in one state of the catalog.
 *
 * @throws OtherStateError if the catalog changed meanwhile.
 * @throws OutdatedListingError if an incremental listing cannot continue.
 */
export async function readChanges(
  database: OpenDatabase,
  partner: Partner,
  listing: ChangesListing,
  { position, limit, now }: { readonly position: FeedPosition; readonly limit: number; readonly now: string },
): Promise<ChangesPiece> {
  const { kinds } = listing;
  const { seen, complete, since } = await readFeedState(database, partner.id, listing);
  // Nearly all requests of a client that follows the feed: nothing has changed, so nothing is searched.
  if (since !== null && lastEvent(seen) < since.from)
    return { ...seen, bytes: new Uint8Array(), count: 0, hasMore: false, next: null, complete };
  const parts: Uint8Array[] = [];
  let count = 0;
  let next: FeedPosition | null = position;
  while (next !== null && count < limit) {
    const { kind, after }: FeedPosition = next;
    const feedKind = kinds[kind];
    if (feedKind === undefined) throw new Error(`the feed has no kind ${kind}`);
    const request = { since, seen, after, limit: limit - count, now };
    const part = await readPart(database, partner, feedKind, listing.departures, request);
    parts.push(part.bytes);
    count += part.count;
    const nextKind: FeedPosition | null = kind + 1 < kinds.length ? { kind: kind + 1, after: null } : null;
    next = part.after === null ? nextKind : { kind, after: part.after };
    if (part.after !== null) break;
  }
  return { ...seen, bytes: Buffer.concat(parts), count, hasMore: next !== null, next, complete };
}

interface Part {
  readonly bytes: Uint8Array;
  readonly count: number;
  /** The id after which the kind continues; null if this was all of it. */
  readonly after: string | null;
}

interface PartRequest extends PageRequest {
  readonly seen: SeenEvents;
}

/** The next changes of one kind: removals and records, merged in the order of their ids. */
async function readPart(
  database: OpenDatabase,
  { id, scope }: Partner,
  feedKind: FeedKind,
  departures: ListedDepartures,
  { since, seen, after, limit, now }: PartRequest,
): Promise<Part> {
  const { kind, listing } = feedKind;
  const { catalog } = seen;
  // A complete listing has no removals.
  const departed =
    since === null ? null : await departures.find(database, kind, { catalog, scope, since }, after, limit);
  const removed = departed === null ? [] : await withoutVisible(database, scope, feedKind, departed.ids, catalog);
  const until = departed?.until ?? null;
  const records = await readPiece(database, listing, { id, scope }, { since, after, until, limit, now });
  inState(catalog, records);
  const lastRecord = records.hasMore ? records.last_key : null;
  if (removed.length === 0) return { bytes: records.bytes, count: records.count, after: lastRecord ?? until };
  const lines = [...linesOf(records.bytes, kind), ...removed.map((removedId) => removalOf(kind, removedId))]
    .filter((line) => lastRecord === null || compareBytewise(line.id, lastRecord) <= 0)
    .sort((one, other) => compareBytewise(one.id, other.id));
  const page = lines.slice(0, limit);
  return {
    bytes: Buffer.from(page.map(({ text }) => `${text}\n`).join('')),
    count: page.length,
    after: page.length < lines.length ? (page.at(-1)?.id ?? null) : (lastRecord ?? until),
  };
}

/** The ids that the scope cannot see in another way. */
async function withoutVisible(
  database: OpenDatabase,
  scope: Scope,
  { visible }: FeedKind,
  ids: readonly string[],
  catalog: string,
): Promise<string[]> {
  if (ids.length === 0) return [];
  const { statementKey, build, values } = visible(database.engine, scope);
  const rows = await database.run(statementKey, () => inCatalogState(build()), { ...values, ids: [...ids] });
  inState(catalog, firstRow(rows));
  const seenNow = new Set(rows.map(({ id }) => id));
  return ids.filter((id) => !seenNow.has(id));
}

/** Adds the state of the catalog to the rows of a query; one row without an id if there are none. */
export function inCatalogState(query: RawBuilder<{ id: string }>): RawBuilder<{ catalog: string; id: string }> {
  return sql`select state.catalog, found.id from (select ${catalogState} as catalog) as state
    left join (${query}) as found on 1 = 1`;
}

/** A line of the feed, without its line feed. */
interface FeedLine {
  readonly id: string;
  readonly text: string;
}

/** The beginning of each line of a kind, up to its id. Ids need no escaping. */
const beginningOf = (kind: IndexedKind): string => `{"kind":"${kind}","id":"`;

function removalOf(kind: IndexedKind, id: string): FeedLine {
  return { id, text: `${beginningOf(kind)}${id}","removed":true}` };
}

function linesOf(bytes: Uint8Array, kind: IndexedKind): FeedLine[] {
  const start = beginningOf(kind).length;
  const texts = Buffer.from(bytes).toString().split('\n').slice(0, -1);
  return texts.map((text) => ({ id: text.slice(start, text.indexOf('"', start)), text }));
}

/** A line of the feed. The record is its last field, so that a reader can store it without parsing. */
export function recordLine(kind: IndexedKind, text: RawBuilder<string>): RawBuilder<string> {
  return sql<string>`${sql.lit(beginningOf(kind))} || record.id || '","record":' || ${text} || '}'`;
}
