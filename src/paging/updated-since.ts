import { sql, type RawBuilder } from 'kysely';
import type { OpenDatabase, ReadSource } from '../database/database.ts';
import { slot } from '../database/statement.ts';
import { addMilliseconds, EPOCH } from '../instant.ts';
import { seenEvents, watermarkOf, type SeenEvents } from './events.ts';

/**
 * A client's own clock, or the greatest `updated_at` that it has, may be later than a change that it has not seen: a release
 * becomes visible up to some hundred milliseconds after its timestamp, and may come between two pages of a walk.
 */
const LEEWAY_MS = 5_000;

/** What an `updated_since` means. */
export interface Since {
  /** The value that queries compare: the one of the request if it is a watermark, else five seconds earlier. */
  readonly from: string;
  /** The number of the first publication at this value or later, whether there is one yet or not. */
  readonly publication: number;
  readonly seen: SeenEvents;
}

/**
 * Tells a watermark that this service gave to this partner from any other timestamp, and reads the latter as five seconds
 * earlier. A watermark is one millisecond after a publication or a change of the partner's grants, and all of these are
 * stored. Two looks into an index, beside those for the events.
 *
 * All pages of a walk decide alike: one that was read later knows more events, but none of them is before the walk's
 * watermark, as events become visible in the order of their timestamps.
 *
 * @param watermark of the walk's first page; null on the first page itself, and for a count.
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
  // A replica has seen less than the client, or the client asks for the future.
  if (watermarkOf(seen) < (watermark ?? since)) {
    const newest = await read('primary');
    if (watermarkOf(newest) > watermarkOf(seen)) database.distrustReplicas();
    seen = newest;
  }
  // A command of the version before may have changed the grants without recording when.
  const isKnown = seen.is_watermark === 1 || since === watermarkOf(seen);
  // Later than the walk's watermark, it cannot be one that the client was given before.
  return isKnown && (watermark === null || since <= watermark)
    ? { from: since, publication: seen.before_since + 1, seen }
    : { from: earlier, publication: seen.before_earlier + 1, seen };
}

interface KnownEvents extends SeenEvents {
  readonly is_watermark: 0 | 1;
  /** The numbers of the last publications before the timestamp, and before five seconds earlier. */
  readonly before_since: number;
  readonly before_earlier: number;
}

const lastPublicationBefore = (timestamp: string): RawBuilder<number> =>
  sql<number>`coalesce((select number from catalog.publications where instant < ${slot(timestamp)}
    order by instant desc limit 1), 0)`;

/** The last events, and whether there is one in the slot `event`. Looks into the indexes on their timestamps. */
export const knownEvents: RawBuilder<KnownEvents> = sql<KnownEvents>`
  select seen.*,
    case
      when exists (select 1 from catalog.publications where instant = ${slot('event')}) then 1
      when exists (select 1 from access.grant_changes
        where partner_id = ${slot('partner_id')} and instant = ${slot('event')}) then 1
      else 0
    end as is_watermark,
    ${lastPublicationBefore('since')} as before_since,
    ${lastPublicationBefore('earlier')} as before_earlier
  from (${seenEvents}) as seen`;
