import { sql } from 'kysely';
import type { OpenDatabase } from '../database/database.ts';
import { limitSlot, slot } from '../database/statement.ts';
import type { ScopeShape } from './scope-sql.ts';

/** From so many publications on, one walk for each costs more than a look at each record. */
const MOST_PUBLICATION_WALKS = 200;

/**
 * What the publications since an instant make of the shape of a list: where all of them are,
 * nothing is left out; where they are few, each may have a walk of its own. One look into the
 * index on instants for each.
 */
export async function shapeByPublications(
  database: OpenDatabase,
  scope: ScopeShape,
  since: string | null,
): Promise<ScopeShape & { byPublication: boolean }> {
  if (since === null || scope.since === 'all') return { ...scope, byPublication: false };
  const [counted] = await database.run<{ publications: number; earlier: number }>(
    'publications since',
    () => sql<{ publications: number; earlier: number }>`select
      (select count(*) from (
        select 1 from catalog.publications where instant >= ${slot('since')} limit ${limitSlot('most')}) as counted)
        as publications,
      (select count(*) from (
        select 1 from catalog.publications where instant < ${slot('since')} limit 1) as earlier) as earlier`,
    { since, most: MOST_PUBLICATION_WALKS + 1 },
  );
  // No record is older than the first publication, which stays the first.
  if (counted?.earlier === 0) return { ...scope, since: 'all', byPublication: false };
  return { ...scope, byPublication: (counted?.publications ?? 0) <= MOST_PUBLICATION_WALKS };
}
