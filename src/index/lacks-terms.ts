import { sql } from 'kysely';
import type { Database } from '../database/database.ts';
import type { IndexedKind } from '../kinds.ts';
import { hasAllTerms } from './terms.ts';

/** Whether a version that knows fewer terms changed the index last. */
export async function lacksTerms({ kysely }: Database): Promise<boolean> {
  const { rows } = await sql<{ kind: IndexedKind; token: string }>`
    select kind, token from catalog.index_blocks`.execute(kysely);
  return rows.some(({ kind, token }) => !hasAllTerms(kind, token));
}
