import { sql } from 'kysely';
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
  /** The events that this was decided by; null if it could be decided without them. */
  readonly seen: SeenEvents | null;
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
  since: string,
  watermark: string | null,
): Promise<Since> {
  const earlier = since <= EPOCH ? since : addMilliseconds(since, -LEEWAY_MS);
  if (watermark !== null && since > watermark) return { from: earlier, seen: null };
  const seen = await readNewestEvents(database, partnerId, since, watermark ?? since);
  return { from: seen.is_watermark === 1 ? since : earlier, seen };
}

/** The filters of a request with its `updated_since` as queries compare it. */
export function filtersFrom<Filters extends object>(filters: Filters, since: Since | null): Filters {
  return since === null ? filters : { ...filters, updated_since: since.from };
}

interface KnownEvents extends SeenEvents {
  readonly is_watermark: 0 | 1;
}

/** The last events, at the primary where a replica has seen less than the client: which that is, or it asks for the future. */
async function readNewestEvents(
  database: OpenDatabase,
  partnerId: number,
  since: string,
  seenBefore: string,
): Promise<KnownEvents> {
  const seen = await readEvents(database, partnerId, since, 'any');
  if (watermarkOf(seen) >= seenBefore) return seen;
  const newest = await readEvents(database, partnerId, since, 'primary');
  if (watermarkOf(newest) > watermarkOf(seen)) database.distrustReplicas();
  return newest;
}

async function readEvents(
  database: OpenDatabase,
  partnerId: number,
  since: string,
  source: ReadSource,
): Promise<KnownEvents> {
  const [seen] = await database.run(
    'events',
    () => sql<KnownEvents>`select seen.*, case
        when exists (select 1 from catalog.publications where instant = ${slot('event')}) then 1
        when exists (select 1 from access.grant_changes
          where partner_id = ${slot('partner_id')} and instant = ${slot('event')}) then 1
        else 0 end as is_watermark
      from (${seenEvents}) as seen`,
    { partner_id: partnerId, event: addMilliseconds(since, -1) },
    source,
  );
  if (seen === undefined) throw new Error('a statement that always gives a row gave none');
  // A command of the version before may have changed the grants without recording when.
  return since === watermarkOf(seen) ? { ...seen, is_watermark: 1 } : seen;
}
