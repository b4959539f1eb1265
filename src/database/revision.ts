import { sql, type Kysely, type RawBuilder } from 'kysely';
import { EPOCH } from '../timestamp.ts';
import type { Tables } from './tables.ts';

/**
 * Names an event of `access.events`: its timestamp and its token. Empty if there is no such event. After a promotion or
 * restore that lost changes, the same timestamps can be used again for other events; the tokens differ.
 */
export type EventName = string;

/**
 * The last event: it identifies one state of the database. Each cached partner and response belongs to the
 * revision that the same statement read. Revisions are compared for equality: their order decides nothing but speed.
 */
export type Revision = EventName;

/** The timestamp of a named event; the epoch if there is none. */
export function timestampOf(event: EventName): string {
  return event === '' ? EPOCH : event.slice(0, EPOCH.length);
}

const nameOfLast = (condition: string): string =>
  `coalesce((select at || ' ' || token from access.events ${condition} order by at desc limit 1), '')`;

/** Reads the revision as one row with a `revision`. */
export const READ_REVISION = `select ${nameOfLast('')} as revision`;

export const revision: RawBuilder<Revision> = sql<Revision>`${sql.raw(nameOfLast(''))}`;

/** Names a catalog: the last release or reset. */
export type CatalogName = EventName;

export const catalogName: RawBuilder<CatalogName> = sql<CatalogName>`${sql.raw(nameOfLast('where partner_id is null'))}`;

/** The last change of what a partner can see. */
export function lastScope(partnerId: RawBuilder<unknown>): RawBuilder<EventName> {
  return sql<EventName>`coalesce((select at || ' ' || token from access.events
    where what = 'scope' and partner_id = ${partnerId} order by at desc limit 1), '')`;
}

/** The setting that has when an import last found nothing new. */
export const CHECKED_AT = 'data_checked_at';

/** When an import last found nothing new in the present catalog; null if none has. */
export const checkedAt: RawBuilder<string | null> = sql<string | null>`(select value from access.settings
  where name = ${sql.lit(CHECKED_AT)} and value > coalesce((select max(at) from access.events where partner_id is null), ''))`;

export async function readRevision(kysely: Kysely<Tables>): Promise<Revision> {
  const { rows } = await sql.raw<{ revision: Revision }>(READ_REVISION).execute(kysely);
  return rows[0]?.revision ?? '';
}

/**
 * Whether an event that was read is missing: the database was restored, or its standby promoted, as of a time before.
 * False for one that is old enough to be deleted, which leaves a gap in the numbers of releases.
 */
export async function isLost(kysely: Kysely<Tables>, event: EventName): Promise<boolean> {
  if (event === '') return false;
  const at = timestampOf(event);
  const { rows } = await sql`select 1 where
    not exists (select 1 from access.events where at = ${at} and token = ${event.slice(at.length + 1)})
    and coalesce((select release from access.events where partner_id is null and at > ${at} order by at limit 1), 0)
      <= coalesce((select release from access.events where partner_id is null and at <= ${at}
        order by at desc limit 1), 0) + 1`.execute(kysely);
  return rows.length > 0;
}
