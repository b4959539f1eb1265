import { sql } from 'kysely';
import type { Database } from '../database/database.ts';
import { type EventName, type Revision } from '../database/revision.ts';
import type { Narrowing } from '../database/tables.ts';
import { EPOCH } from '../timestamp.ts';
import type { Kind } from '../kinds.ts';
import type { ByOwner } from './visibility/rules.ts';

/** A partner's grants; the maps are ID → timestamp of the grant. Every query of a resource takes a scope. */
export interface Scope extends ByOwner<ReadonlyMap<string, string>> {
  /** When the partner was granted everything; null if it has individual grants only. */
  readonly everythingSince: string | null;
}

/** The partner behind a key. */
export interface Partner {
  readonly id: number;
  /** The revision that the same statement read: data cached for the partner can be filed under it. */
  readonly revision: Revision;
  readonly name: string;
  /** The last change of its grants, kinds or suspension. */
  readonly scopeEvent: EventName;
  readonly isSuspended: boolean;
  readonly requestsPerMinute: number;
  /** Null for all kinds. */
  readonly kinds: ReadonlySet<Kind> | null;
  readonly scope: Scope;
}

/** The last time since which the feed of changes can list every record to a partner, and why. */
export interface CompleteListings {
  /** A listing of changes since a later watermark is not complete. */
  readonly upTo: string;
  readonly because: Narrowing | 'catalog';
}

/** Reads the last time since which the feed of changes can list every record to the partner, and why. */
export async function readCompleteListings(
  { kysely }: Pick<Database, 'kysely'>,
  partnerId: number,
): Promise<CompleteListings> {
  // A gap in the numbers shows that earlier events were deleted.
  const { rows } = await sql<CompleteListings>`
    select "upTo", because from (
      select at as "upTo", narrows as because from access.events
        where what = 'scope' and partner_id = ${partnerId} and narrows is not null
      union all select at, 'catalog' from access.events as event
        where partner_id is null and (what = 'reset' or release > 1 + coalesce((
          select release from access.events as before where before.partner_id is null and before.at < event.at
          order by before.at desc limit 1), 0))
    ) as complete order by "upTo" desc limit 1`.execute(kysely);
  return rows[0] ?? { upTo: EPOCH, because: 'creation' };
}
