import { sql, type Kysely, type RawBuilder } from 'kysely';
import { EPOCH } from '../timestamp.ts';
import type { Tables } from './tables.ts';

/**
 * Identifies one state of the database: the counter in `access.clock`, which every change increments, and the random
 * token written with it. After a promotion or restore that lost changes, the same numbers are used again for other
 * changes; the tokens differ.
 *
 * Partners and responses are cached under the revision that the same statement read, and used only while that is the
 * current one; the index caches by its blocks' tokens. Revisions are compared for equality only. They have no order:
 * whichever was read later is newer.
 */
export type Revision = string;

const REVISION = "clock.version || '-' || clock.token";

/** The revision, if `access.clock` has the alias `clock`. */
export const revision: RawBuilder<Revision> = sql<Revision>`${sql.raw(REVISION)}`;

/** Reads the revision as one row with a `revision`. */
export const READ_REVISION = `select ${REVISION} as revision from access.clock as clock`;

export async function readRevision(kysely: Kysely<Tables>): Promise<Revision> {
  const { rows } = await sql.raw<{ revision: Revision }>(READ_REVISION).execute(kysely);
  const [row] = rows;
  if (row === undefined) throw new Error('access.clock is empty');
  return row.revision;
}

/**
 * Whether the change that made this revision is missing: the database was restored, or its standby promoted, as of a
 * time before. False for a revision that is no longer recorded.
 */
export async function isRevisionLost(kysely: Kysely<Tables>, lost: Revision): Promise<boolean> {
  const version = numberOf(lost);
  const token = lost.slice(lost.indexOf('-') + 1);
  const { rows } = await sql`select version from access.clock where version < ${version}
    union all select version from access.revisions where version = ${version} and token <> ${token}`.execute(kysely);
  return rows.length > 0;
}

/** The number in a revision: for display, and for ordering that affects nothing but speed. */
export function numberOf(value: Revision): number {
  return Number.parseInt(value, 10);
}

/**
 * Identifies the state of the catalog, for caching: the timestamp and random token of the last release. After a
 * restore that lost changes, another release can have the same number, and even the same timestamp.
 */
export const catalogState: RawBuilder<string> = sql<string>`
  coalesce((select instant || ' ' || token from catalog.publications order by number desc limit 1), ${sql.lit(EPOCH)})`;
