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
  const { rows } = await sql.raw<{ revision: Revision }>(READ_REVISION).execute(kysely);
  const [row] = rows;
  if (row === undefined) throw new Error('access.clock is empty');
  return row.revision;
}

/** The number in a revision: for people, and for orders of which nothing but speed depends. */
export function numberOf(of: Revision): number {
  return Number.parseInt(of, 10);
}

/**
 * Identifies the state of the catalog, for what is remembered of it: the timestamp of the last publication and its random
 * token. After history was lost, another publication may have the same number, and even the same timestamp.
 */
export const catalogState: RawBuilder<string> = sql<string>`
  coalesce((select instant || ' ' || token from catalog.publications order by number desc limit 1), ${sql.lit(EPOCH)})`;
