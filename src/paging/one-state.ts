import type { FastifyRequest } from 'fastify';
import { sql, type RawBuilder } from 'kysely';
import type { Partner } from '../access/scope.ts';
import type { OpenDatabase, ReadSource } from '../database/database.ts';
import { lastScope, revision, timestampOf, type EventName, type Revision } from '../database/revision.ts';
import { firstRow, parameter } from '../database/statement.ts';
import { callerOf } from '../http/request/pipeline.ts';
import type { ChangedSince } from '../index/conditions.ts';
import { OtherStateError } from '../index/statements.ts';
import { addMilliseconds, EPOCH, latestOf } from '../timestamp.ts';

/** The last events that a statement saw, and the revision under which its results can be cached. */
export interface SeenEvents {
  /** As `catalogState`. Results of other statements are consistent with this one's if they saw the same state. */
  readonly catalog: string;
  /** The last release in the catalog; the epoch before the first. */
  readonly published_at: string;
  /** 0 if the statement ran between the two commits of a release: it may have seen the rows of only one. */
  readonly is_whole: 0 | 1;
  /** The last reset; the epoch before the first. */
  readonly reset_at: string;
  /** The last change of what the partner can see. */
  readonly scope_event: EventName;
  /** The last event of all. */
  readonly revision: Revision;
}

const resetAt = sql<string>`coalesce(
  (select max(at) from access.events where partner_id is null and what = 'reset'), ${sql.lit(EPOCH)})`;

/**
 * One row of events. Uses the parameter `partner_id`. Five index lookups.
 *
 * The catalog's last release is that of the log, unless a reset followed, or it is between its two commits.
 */
export const seenEvents: RawBuilder<SeenEvents> = sql<SeenEvents>`select
  coalesce(published.at, ${sql.lit(EPOCH)}) || ' ' || coalesce(last.at || ' ' || last.token, '') as catalog,
  coalesce(published.at, ${sql.lit(EPOCH)}) as published_at,
  case when case
      when last.what = 'reset' then coalesce(published.at, '') < last.at
      else coalesce(published.number, 0) = coalesce(last.release, 0) end
    then 1 else 0 end as is_whole,
  ${resetAt} as reset_at,
  ${lastScope(parameter('partner_id'))} as scope_event,
  ${revision} as revision
  from (select 1 as one) as one
  left join (select at, token, what, release from access.events where partner_id is null
    order by at desc limit 1) as last on true
  left join (select at, number from catalog.releases order by at desc limit 1) as published on true`;

type Events = Pick<SeenEvents, 'published_at' | 'reset_at' | 'scope_event'>;

/** The timestamp of the last of the events. */
export function lastEvent({ published_at, reset_at, scope_event }: Events): string {
  return latestOf(published_at, reset_at, timestampOf(scope_event));
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
 * watermark is one millisecond after a release, a reset or a change of the partner's scope, which the log has unless it is
 * old. Costs some index lookups in addition to those for the events.
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
  // A timestamp after the listing's watermark cannot be one that the client received earlier.
  const isWatermark = seen.is_watermark === 1 && (watermark === null || since <= watermark);
  const from = isWatermark ? since : earlier;
  const before = isWatermark ? seen.before_since : seen.before_earlier;
  // A reset is later than every release in the catalog: since then or before, everything counts as changed.
  return { from, release: from <= seen.reset_at ? 1 : before + 1, seen, isWatermark };
}

interface KnownEvents extends SeenEvents {
  readonly is_watermark: 0 | 1;
  /** The numbers of the last releases before the timestamp, and before five seconds earlier. */
  readonly before_since: number;
  readonly before_earlier: number;
  /** When the partner last lost sight of records other than by departures. */
  readonly narrowed_at: string;
}

const lastReleaseBefore = (timestamp: string): RawBuilder<number> =>
  sql<number>`coalesce((select number from catalog.releases where at < ${parameter(timestamp)}
    order by at desc limit 1), 0)`;

/**
 * The last events, and whether the parameter `event` is the timestamp of one that makes a watermark of this partner. It
 * does not if the next release has another number than the next one: events were deleted in between, and departures.
 */
export const knownEvents: RawBuilder<KnownEvents> = sql<KnownEvents>`
  select seen.*,
    case when exists (
      select 1 from access.events as event
      where event.at = ${parameter('event')}
        and (event.partner_id is null or (event.what = 'scope' and event.partner_id = ${parameter('partner_id')}))
        and coalesce((select release from access.events as later
          where later.partner_id is null and later.at > event.at order by later.at limit 1), event.release + 1)
          = event.release + 1) then 1 else 0 end as is_watermark,
    ${lastReleaseBefore('since')} as before_since,
    ${lastReleaseBefore('earlier')} as before_earlier,
    coalesce((select at from access.events
      where what = 'scope' and partner_id = ${parameter('partner_id')} and narrows is not null
      order by at desc limit 1), ${sql.lit(EPOCH)}) as narrowed_at
  from (${seenEvents}) as seen`;

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
 * - SQLite, which reads its two files one after the other, read no commit in between: the catalog and the log have the
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
      const { scopeEvent } = partner;
      const isCurrent = row.scope_event === scopeEvent;
      // The partner changed again after it was read. The catalog did not: these rows are what it saw as of that event.
      const wasCurrent = row.catalog === refreshedIn && row.scope_event >= scopeEvent;
      const isWhole = row.is_whole === 1;
      if (isCurrent ? isWhole || isSame(row, before) : wasCurrent) {
        const watermark = watermarkOf({ ...row, scope_event: scopeEvent });
        isBehind = cursorWatermark !== null && watermark < cursorWatermark;
        if (!isBehind || isFromPrimary) {
          const revision = isCurrent && isWhole ? row.revision : null;
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
  return row.catalog === before?.catalog;
}
