import { sql, type RawBuilder } from 'kysely';
import type { OpenDatabase, ReadSource } from '../database/database.ts';
import { catalogState, revision, type Revision } from '../database/revision.ts';
import { firstRow, parameter } from '../database/statement.ts';
import type { ChangedSince } from '../index/conditions.ts';
import { addMilliseconds, EPOCH, nextMillisecond } from '../timestamp.ts';

/**
 * The last release and the last grant change that a statement saw, and the revision under which its results can be
 * cached.
 */
export interface SeenEvents {
  /**
   * See `catalogState`. Results of other statements on the catalog are consistent with this one if they saw the same
   * state.
   */
  readonly catalog: string;
  /** The last release in the catalog; the epoch before the first. */
  readonly published_at: string;
  /** The last release recorded in `access`. */
  readonly announced_at: string;
  /** When the partner's grants last changed; the epoch before the first change. */
  readonly grants_changed_at: string;
  /** Revision in `access.clock`, which changes with every release and every change of partners, keys and grants. */
  readonly revision: Revision;
}

/** One row of events. Uses the parameter `partner_id`. Five index lookups. */
export const seenEvents: RawBuilder<SeenEvents> = sql<SeenEvents>`select
  ${catalogState} as catalog,
  coalesce((select max(instant) from catalog.publications), ${sql.lit(EPOCH)}) as published_at,
  (select last_publication from access.clock) as announced_at,
  coalesce((select grants_changed_at from access.partners where id = ${parameter('partner_id')}), ${sql.lit(EPOCH)})
    as grants_changed_at,
  (select ${revision} from access.clock as clock) as revision`;

/**
 * The revision under which the statement's results can be cached. Null if the statement ran between the two commits of
 * a release, when it may have seen the revision of one and the rows of the other.
 */
export function keepingRevision(seen: SeenEvents): Revision | null {
  return seen.published_at === seen.announced_at ? seen.revision : null;
}

type Events = Pick<SeenEvents, 'published_at' | 'grants_changed_at'>;

/** The timestamp of the later of the two events. */
export function lastEvent({ published_at, grants_changed_at }: Events): string {
  return published_at > grants_changed_at ? published_at : grants_changed_at;
}

/** One millisecond after the last event. */
export function watermarkOf(events: Events): string {
  const last = lastEvent(events);
  return last === EPOCH ? EPOCH : nextMillisecond(last);
}

/**
 * A client's own clock, or its greatest `updated_at`, can be later than a change that it has not seen: a release
 * becomes visible up to a few hundred milliseconds after its timestamp, possibly between two pages of a listing.
 */
const LEEWAY_MS = 5_000;

/** The meaning of an `updated_since`: from the requested timestamp if it is a watermark, otherwise five seconds earlier. */
export interface Since extends ChangedSince {
  readonly seen: SeenEvents;
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
  return isKnown && (watermark === null || since <= watermark)
    ? { from: since, publication: seen.before_since + 1, seen }
    : { from: earlier, publication: seen.before_earlier + 1, seen };
}

interface KnownEvents extends SeenEvents {
  readonly is_watermark: 0 | 1;
  /** The numbers of the last releases before the timestamp, and before five seconds earlier. */
  readonly before_since: number;
  readonly before_earlier: number;
}

const lastPublicationBefore = (timestamp: string): RawBuilder<number> =>
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
    ${lastPublicationBefore('since')} as before_since,
    ${lastPublicationBefore('earlier')} as before_earlier
  from (${seenEvents}) as seen`;
