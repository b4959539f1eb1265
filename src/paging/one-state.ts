import type { FastifyRequest } from 'fastify';
import { sql, type RawBuilder } from 'kysely';
import { partnerState } from '../access/partner-records.ts';
import type { Partner } from '../access/scope.ts';
import type { OpenDatabase, ReadSource } from '../database/database.ts';
import { catalogState, revision, type Revision } from '../database/revision.ts';
import { firstRow, parameter } from '../database/statement.ts';
import { callerOf } from '../http/request/pipeline.ts';
import type { ChangedSince } from '../index/conditions.ts';
import { OtherStateError } from '../index/statements.ts';
import { addMilliseconds, EPOCH } from '../timestamp.ts';

/** The last release and grant change that a statement saw, and the revision under which its results can be cached. */
export interface SeenEvents {
  /** See `catalogState`. Results of other statements are consistent with this one's if they saw the same state. */
  readonly catalog: string;
  /** The last release in the catalog; the epoch before the first. */
  readonly published_at: string;
  /** The last release recorded in `access`. */
  readonly announced_at: string;
  /** When the partner's grants or kinds last changed; the epoch if there is no such partner. */
  readonly grants_changed_at: string;
  /** See `Partner`; empty if there is no such partner. */
  readonly partner_state: string;
  /** Revision in `access.clock`, which changes with every release and every change of partners, keys and grants. */
  readonly revision: Revision;
}

/** One row of events. Uses the parameter `partner_id`. Four index lookups. */
export const seenEvents: RawBuilder<SeenEvents> = sql<SeenEvents>`select
  ${catalogState} as catalog,
  coalesce((select max(instant) from catalog.publications), ${sql.lit(EPOCH)}) as published_at,
  clock.last_publication as announced_at,
  coalesce(partner.grants_changed_at, ${sql.lit(EPOCH)}) as grants_changed_at,
  coalesce(${partnerState}, '') as partner_state,
  ${revision} as revision
  from access.clock as clock left join access.partners as partner on partner.id = ${parameter('partner_id')}`;

/** False if the statement ran between the two commits of a release: it may have seen the rows of only one. */
export function isWhole({ published_at, announced_at }: SeenEvents): boolean {
  return published_at === announced_at;
}

type Events = Pick<SeenEvents, 'published_at' | 'grants_changed_at'>;

/** The timestamp of the later of the two events. */
export function lastEvent({ published_at, grants_changed_at }: Events): string {
  return published_at > grants_changed_at ? published_at : grants_changed_at;
}

/** One millisecond after the last event. */
export function watermarkOf(events: Events): string {
  const last = lastEvent(events);
  return last === EPOCH ? EPOCH : addMilliseconds(last, 1);
}

/**
 * A client's own clock, or its greatest `updated_at`, can be later than a change that it has not seen: a release
 * becomes visible up to a few hundred milliseconds after its timestamp, possibly between two pages of a listing.
 */
const LEEWAY_MS = 5_000;

/** The meaning of `updated_since`: the requested timestamp if it is a watermark, otherwise five seconds earlier. */
export interface Since extends ChangedSince {
  readonly seen: KnownEvents;
  /** Whether it is a watermark that was issued to this partner, or could have been. */
  readonly isWatermark: boolean;
}

/**
 * Distinguishes watermarks issued to this partner from other timestamps, and moves the latter back by five seconds. A
 * watermark is one millisecond after a release or a change of the partner's grants, all of which are stored. Costs two
 * index lookups in addition to those for the events.
 *
 * All pages of a listing decide alike: a later page knows more events, but none of them is before the listing's
 * watermark, because events become visible in the order of their timestamps.
 *
 * @param watermark of the listing's first page; null on the first page itself, and for a count.
 */
export async function readSince(
  database: OpenDatabase,
  partnerId: number,
  since: string | undefined,
  watermark: string | null,
): Promise<Since | null> {
  if (since === undefined) return null;
  const earlier = since <= EPOCH ? since : addMilliseconds(since, -LEEWAY_MS);
  const values = { partner_id: partnerId, event: addMilliseconds(since, -1), since, earlier };
  const read = async (source: ReadSource): Promise<KnownEvents> =>
    firstRow(await database.run('events', () => knownEvents, values, source));
  let seen = await read('any');
  // The replica is behind what the client has seen, or the timestamp is in the future.
  if (watermarkOf(seen) < (watermark ?? since)) {
    const newest = await read('primary');
    if (watermarkOf(newest) > watermarkOf(seen)) database.bypassReplicas();
    seen = newest;
  }
  // A command of the previous version may have changed grants without recording when.
  const isKnown = seen.is_watermark === 1 || since === watermarkOf(seen);
  // A timestamp after the listing's watermark cannot be one that the client received earlier.
  const isWatermark = isKnown && (watermark === null || since <= watermark);
  return isWatermark
    ? { from: since, release: seen.before_since + 1, seen, isWatermark }
    : { from: earlier, release: seen.before_earlier + 1, seen, isWatermark };
}

interface KnownEvents extends SeenEvents {
  readonly is_watermark: 0 | 1;
  /** The numbers of the last releases before the timestamp, and before five seconds earlier. */
  readonly before_since: number;
  readonly before_earlier: number;
  /** A listing of changes since this timestamp or earlier is complete: departures were deleted, or releases lost. */
  readonly complete_before: string;
  /** When the partner last lost sight of records other than by departures. */
  readonly narrowed_at: string;
}

const lastReleaseBefore = (timestamp: string): RawBuilder<number> =>
  sql<number>`coalesce((select number from catalog.publications where instant < ${parameter(timestamp)}
    order by instant desc limit 1), 0)`;

/** The last events, and whether the parameter `event` is the timestamp of one. Uses the indexes on event timestamps. */
export const knownEvents: RawBuilder<KnownEvents> = sql<KnownEvents>`
  select seen.*,
    case
      when exists (select 1 from catalog.publications where instant = ${parameter('event')}) then 1
      when exists (select 1 from access.grant_changes
        where partner_id = ${parameter('partner_id')} and instant = ${parameter('event')}) then 1
      else 0
    end as is_watermark,
    ${lastReleaseBefore('since')} as before_since,
    ${lastReleaseBefore('earlier')} as before_earlier,
    feed.complete_before,
    coalesce((select narrowed_at from access.partners where id = ${parameter('partner_id')}), ${sql.lit(EPOCH)}) as narrowed_at
  from (${seenEvents}) as seen cross join catalog.feed as feed`;

/**
 * Each failed attempt met a release, a change of the partner or a lagging replica. On a busy machine, imports and
 * grants without a pause can cause ten in a row.
 */
const MAX_ATTEMPTS = 30;

/** How to read a response. */
export interface Reading<Row extends SeenEvents> {
  /**
   * Reads what this partner can see, and the events by the statement that read the result.
   *
   * @throws OtherStateError if two of its statements saw different states of the catalog.
   */
  readonly read: (partner: Partner) => Promise<Row>;
  /** Drops what is cached of another state of the catalog. */
  readonly forget?: () => void;
  /** The watermark in the request's cursor; null without one. */
  readonly cursorWatermark?: string | null;
}

/** A result that was read in one state of the catalog and of the partner. */
export interface OneState<Row> {
  readonly row: Row;
  /** One millisecond after the last event that the row reflects; that of the cursor, if there is one. */
  readonly watermark: string;
  /** The revision under which to cache the response; null if it must not be cached. */
  readonly revision: Revision | null;
}

/**
 * Reads a response until it is of one state. Handlers get a partner's scope only here. A response is of one state if
 *
 * - all of it was read in one state of the catalog;
 * - the partner's grants, kinds and suspension are still those that it was read for. If not, the partner is read again.
 *   If grants change without a pause, a response is sent all the same: one whose catalog did not change since before
 *   the partner was read, with the watermark of that partner's scope;
 * - SQLite, which reads its two files one after the other, read no commit in between: `catalog` and `access` name the
 *   same last release. If they differ twice, in the same way, a process died between its two commits;
 * - it has everything before the watermark in the cursor. If the primary lacks that too, it was lost in a restore.
 *
 * @throws ApiError if the partner turns out to be suspended, deleted or limited to other kinds.
 */
export async function readInOneState<Row extends SeenEvents>(
  database: OpenDatabase,
  request: Pick<FastifyRequest, 'id' | 'caller' | 'refreshPartner'>,
  { read, forget, cursorWatermark = null }: Reading<Row>,
): Promise<OneState<Row>> {
  let before: SeenEvents | null = null;
  /** The state of the catalog before the partner was read again. */
  let refreshedIn: string | null = null;
  let isFromPrimary = false;
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
    const { partner } = callerOf(request);
    const row: Row | null = await read(partner).catch((error: unknown) => {
      if (!(error instanceof OtherStateError)) throw error;
      forget?.();
      return null;
    });
    let isBehind = false;
    if (row !== null) {
      const { changedAt } = partner.scope;
      const isCurrent = row.partner_state === partner.state;
      // The partner changed again after it was read. The catalog did not: these rows are what it saw at `changedAt`.
      const wasCurrent = row.catalog === refreshedIn && row.grants_changed_at >= changedAt;
      if (isCurrent ? isWhole(row) || isSame(row, before) : wasCurrent) {
        const watermark = watermarkOf({ published_at: row.published_at, grants_changed_at: changedAt });
        isBehind = cursorWatermark !== null && watermark < cursorWatermark;
        if (!isBehind || isFromPrimary) {
          const revision = isCurrent && isWhole(row) ? row.revision : null;
          return { row, watermark: cursorWatermark ?? watermark, revision };
        }
      } else if (!isCurrent) {
        refreshedIn = row.catalog;
        await request.refreshPartner();
      }
    }
    before = row;
    // The first failure is a change in between; a second one means that one of two servers lags behind.
    if (isBehind || attempt > 0) {
      database.bypassReplicas();
      isFromPrimary = true;
    }
  }
  throw new Error(`no response in one state after ${MAX_ATTEMPTS} attempts: changes follow each other too fast`);
}

function isSame(row: SeenEvents, before: SeenEvents | null): boolean {
  return row.published_at === before?.published_at && row.announced_at === before.announced_at;
}
