import { sql, type RawBuilder } from 'kysely';
import type { OpenDatabase, ReadSource } from '../database/database.ts';
import { parameter } from '../database/statement.ts';
import { addMilliseconds, EPOCH } from '../timestamp.ts';
import { seenEvents, watermarkOf, type SeenEvents } from './events.ts';

/**
 * A client's own clock, or its greatest `updated_at`, can be later than a change that it has not seen: a release
 * becomes visible up to a few hundred milliseconds after its timestamp, possibly between two pages of a listing.
 */
const LEEWAY_MS = 5_000;

/** The meaning of an `updated_since`. */
export interface Since {
  /**
   * The timestamp that queries compare with: the requested one if it is a watermark, otherwise five seconds earlier.
   */
  readonly from: string;
  /** The number of the first release at `from` or later, whether or not it exists yet. */
  readonly publication: number;
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
  const read = async (source: ReadSource): Promise<KnownEvents> => {
    const [seen] = await database.run('events', () => knownEvents, values, source);
    if (seen === undefined) throw new Error('a statement that always gives a row gave none');
    return seen;
  };
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
