import type { Database } from '../database/database.ts';
import type { Revision } from '../database/revision.ts';
import type { Narrowing } from '../database/tables.ts';
import type { Kind } from '../kinds.ts';
import type { ByOwner } from './visibility/rules.ts';

/** A partner's grants; the maps are ID → timestamp of the grant. Every query of a resource takes a scope. */
export interface Scope extends ByOwner<ReadonlyMap<string, string>> {
  /** When the partner was granted everything; null if it has individual grants only. */
  readonly everythingSince: string | null;
  /** When the partner's grants or kinds last changed. */
  readonly changedAt: string;
}

/** The partner behind a key. */
export interface Partner {
  readonly id: number;
  /** Revision in `access.clock` that the same statement read: data cached for the partner can be filed under it. */
  readonly revision: Revision;
  readonly name: string;
  /** Its grants, kinds, suspension and deletion as one value: equal if none of them has changed. */
  readonly state: string;
  readonly isSuspended: boolean;
  readonly requestsPerMinute: number;
  /** Null for all kinds. */
  readonly kinds: ReadonlySet<Kind> | null;
  readonly scope: Scope;
}

/**
 * Records that what a partner can see changed, so that queries can detect a scope that was read before it, and that the
 * partner's next watermark is later.
 *
 * @param timestamp drawn in this transaction.
 * @param narrowedBy why it can see fewer records than before, or may; null if it sees at least those.
 */
export async function recordScopeChange(
  { kysely }: Database,
  partnerId: number,
  timestamp: string,
  narrowedBy: Narrowing | null,
): Promise<void> {
  await kysely.insertInto('access.grant_changes').values({ partner_id: partnerId, instant: timestamp }).execute();
  const narrowed = narrowedBy === null ? {} : { narrowed_at: timestamp, narrowed_by: narrowedBy };
  await kysely
    .updateTable('access.partners')
    .set({ grants_changed_at: timestamp, ...narrowed })
    .where('id', '=', partnerId)
    .execute();
}

/** Until when the feed of changes must list every record to a partner, and why. */
export interface CompleteListings {
  /** A listing of changes since this timestamp or an earlier one is complete. */
  readonly upTo: string;
  readonly because: Narrowing | 'catalog';
}

/** Reads the later of the two timestamps that decide whether the partner's next listing of changes is complete. */
export async function readCompleteListings(
  { kysely }: Pick<Database, 'kysely'>,
  partnerId: number,
): Promise<CompleteListings> {
  const row = await kysely
    .selectFrom('access.partners as partner')
    .innerJoin('catalog.feed as feed', (join) => join.onTrue())
    .select(['partner.narrowed_at', 'partner.narrowed_by', 'feed.complete_before'])
    .where('partner.id', '=', partnerId)
    .executeTakeFirstOrThrow();
  return row.narrowed_at >= row.complete_before
    ? { upTo: row.narrowed_at, because: row.narrowed_by }
    : { upTo: row.complete_before, because: 'catalog' };
}
