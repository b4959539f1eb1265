import { sql, type RawBuilder } from 'kysely';
import type { Snapshot } from '../access/snapshot.ts';
import type { ReadSource } from '../database/database.ts';
import { firstRow, parameter } from '../database/statement.ts';
import type { ChangedSince } from '../index/conditions.ts';
import { addMilliseconds, EPOCH } from '../timestamp.ts';

/**
 * A client's own clock, or its greatest `updated_at`, can be later than a change that it has not seen: a release
 * becomes visible up to a few hundred milliseconds after its timestamp, possibly between two pages of a listing.
 */
const LEEWAY_MS = 5_000;

/** The meaning of `updated_since`: the requested timestamp if it is a watermark, otherwise five seconds earlier. */
export interface Since extends ChangedSince {
  /** Whether it is a watermark that was issued to this partner, or could have been. */
  readonly isWatermark: boolean;
  /** The last reset; the epoch before the first. */
  readonly reset_at: string;
  /** When the partner last lost sight of records other than by departures. */
  readonly narrows_at: string;
}

/**
 * Distinguishes watermarks issued to this partner from other timestamps, and moves the latter back by five seconds. A
 * watermark is one millisecond after a release, a reset or a change of the partner's scope, which the log has unless it is
 * old. Costs some index lookups.
 *
 * All pages of a listing decide alike: a later page knows more events, but none of them is before the listing's
 * watermark, because events become visible in the order of their timestamps.
 *
 * @param watermark of the listing's first page; null on the first page itself, and for a count.
 * @param source if a replica will not do.
 * @throws OtherSnapshotError if the log has other events than the snapshot.
 */
export async function readSince(
  snapshot: Snapshot,
  since: string | undefined,
  watermark: string | null,
  source: ReadSource = 'any',
): Promise<Since | null> {
  if (since === undefined) return null;
  const earlier = since <= EPOCH ? since : addMilliseconds(since, -LEEWAY_MS);
  const values = { event: addMilliseconds(since, -1), since, earlier };
  // The snapshot lacks what the client has seen, and a replica can lack it too; or the timestamp is in the future.
  const isBehind = snapshot.watermark < (watermark ?? since);
  const query = { statementKey: 'since', columns: SINCE_COLUMNS, build: () => sinceStatement, values };
  const read = firstRow(await snapshot.run<SinceRow>(query, isBehind ? 'primary' : source));
  // A timestamp after the listing's watermark cannot be one that the client received earlier.
  const isWatermark = read.is_watermark === 1 && (watermark === null || since <= watermark);
  const { reset_at, narrows_at } = read;
  const from = isWatermark ? since : earlier;
  const before = isWatermark ? read.before_since : read.before_earlier;
  // A reset is later than every release in the catalog: since then or before, everything counts as changed.
  return { from, release: from <= reset_at ? 1 : before + 1, isWatermark, reset_at, narrows_at };
}

/** Whether nothing that the partner sees has changed. */
export function isUnchangedSince({ watermark }: Snapshot, since: Since | null): boolean {
  return since !== null && watermark <= since.from;
}

interface SinceRow extends Pick<Since, 'reset_at' | 'narrows_at'> {
  readonly is_watermark: 0 | 1;
  /** The numbers of the last releases before the timestamp, and before five seconds earlier. */
  readonly before_since: number;
  readonly before_earlier: number;
}

export const SINCE_COLUMNS = ['is_watermark', 'before_since', 'before_earlier', 'reset_at', 'narrows_at'] as const;

const lastReleaseBefore = (timestamp: string): RawBuilder<number> =>
  sql<number>`coalesce((select number from catalog.releases where at < ${parameter(timestamp)}
    order by at desc limit 1), 0)`;

/**
 * Whether the parameter `event` is the timestamp of an event that makes a watermark of this partner, and what it means.
 * It makes none if the number of the next release does not follow its own: events and departures in between were deleted.
 */
export const sinceStatement: RawBuilder<SinceRow> = sql<SinceRow>`
  select
    case when exists (
      select 1 from access.events as event
      where event.at = ${parameter('event')}
        and (event.partner_id is null or (event.what = 'scope' and event.partner_id = ${parameter('partner_id')}))
        and coalesce((select release from access.events as later
          where later.partner_id is null and later.at > event.at order by later.at limit 1), event.release + 1)
          = event.release + 1) then 1 else 0 end as is_watermark,
    ${lastReleaseBefore('since')} as before_since,
    ${lastReleaseBefore('earlier')} as before_earlier,
    coalesce((select max(at) from access.events where partner_id is null and what = 'reset'),
      ${sql.lit(EPOCH)}) as reset_at,
    coalesce((select at from access.events
      where what = 'scope' and partner_id = ${parameter('partner_id')} and narrows is not null
      order by at desc limit 1), ${sql.lit(EPOCH)}) as narrows_at`;
