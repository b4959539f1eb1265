import { sql } from 'kysely';
import type { Database } from '../../src/database/database.ts';
import { fts5Query, tsquery, type SearchedTable } from '../../src/search/search-index.ts';
import { queryWords } from '../../src/search/words.ts';

/** The ids of all records whose search entry matches, in order, whoever may see them. */
export async function idsFound({ engine, kysely }: Database, table: SearchedTable, q: string): Promise<string[]> {
  const index = sql.raw(`${table}_search`);
  const words = queryWords(q);
  const numbers =
    engine === 'sqlite'
      ? sql`select rowid from catalog.${index} where ${index} match ${fts5Query(words)}`
      : sql`select number from catalog.${index} where words @@ ${tsquery(words)}::tsquery`;
  const { rows } = await sql<{ id: string }>`
    select id from ${sql.table(`catalog.${table}`)} where number in (${numbers}) order by id`.execute(kysely);
  return rows.map(({ id }) => id);
}
