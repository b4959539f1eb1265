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

/** The tokens of every search entry, in order, by the id of its record. */
export async function entriesOf({ engine, kysely }: Database, table: SearchedTable): Promise<Record<string, string[]>> {
  const index = `${table}_search`;
  if (engine === 'sqlite') {
    await sql
      .raw(`create virtual table temp.${index}_terms using fts5vocab(catalog, ${index}, instance)`)
      .execute(kysely);
  }
  const entries =
    engine === 'sqlite'
      ? sql`select doc as number, term as token from temp.${sql.raw(`${index}_terms`)}`
      : sql`select number, unnest(tsvector_to_array(words)) as token from catalog.${sql.raw(index)}`;
  const { rows } = await sql<{ id: string; token: string }>`select record.id, entry.token
    from (${entries}) as entry join ${sql.table(`catalog.${table}`)} as record on record.number = entry.number`.execute(
    kysely,
  );
  const tokens: Record<string, string[]> = {};
  for (const { id, token } of rows) (tokens[id] ??= []).push(token);
  for (const list of Object.values(tokens)) list.sort();
  return tokens;
}
