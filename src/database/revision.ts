import { sql, type Kysely, type RawBuilder } from 'kysely';
import { EPOCH } from '../instant.ts';
import type { Tables } from './tables.ts';

/**
 * Identifies one state of the database: the number of `access.clock`, which every change adds one to, and the random
 * token that the same change writes. After a promotion or a restore that lost changes, the numbers are given a second
 * time, for other changes; the tokens differ.
 *
 * Whatever a process remembers is filed under the revision that the same statement read, and is used only while that is
 * the current one. Revisions are compared for equality. Their order cannot be known from them: what was read later is
 * newer.
 */
export type Revision = string;

const REVISION = "clock.version || '-' || clock.token";

/** The revision, if `access.clock` has the alias `clock`. */
export const revision: RawBuilder<Revision> = sql<Revision>`${sql.raw(REVISION)}`;

/** The whole statement that reads it, as a row with a `revision`. */
export const READ_REVISION = `select ${REVISION} as revision from access.clock as clock`;

export async function readRevision(kysely: Kysely<Tables>): Promise<Revision> {
  const row = await kysely
    .selectFrom('access.clock as clock')
    .select(revision.as('revision'))
    .executeTakeFirstOrThrow();
  return row.revision;
}

/** The number in a revision: for people, and for orders of which nothing but speed depends. */
export function numberOf(of: Revision): number {
  return Number.parseInt(of, 10);
}

/**
 * Identifies the state of the catalog, for what is remembered of it. On SQLite the last publication belongs to it as well:
 * it commits to `catalog` before it commits to `access`.
 */
export const catalogState: RawBuilder<string> = sql<string>`
  coalesce((select max(instant) from catalog.publications), ${sql.lit(EPOCH)})
  || ' ' || (select ${revision} from access.clock as clock)`;

/** The same of a row that has the parts of it. */
export function catalogStateOf(seen: { readonly published_at: string; readonly revision: Revision }): string {
  return `${seen.published_at} ${seen.revision}`;
}
