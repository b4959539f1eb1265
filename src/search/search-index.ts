import { sql, type Expression, type RawBuilder, type SqlBool } from 'kysely';
import type { Database, Engine } from '../database/database.ts';
import type { QueryWord } from './words.ts';

export type SearchedTable = 'certifications' | 'suppliers' | 'contracts' | 'solicitations';

/** The entry of one record in the search index. */
export interface SearchEntry {
  number: number;
  tokens: string[];
}

/**
 * True for the records that hold every word. Served by FTS5's prefix indexes on SQLite and by
 * the GIN index on PostgreSQL: costs what the words match, before the order by id.
 */
export function holdsWords(
  engine: Engine,
  table: SearchedTable,
  number: Expression<unknown>,
  words: readonly QueryWord[],
): RawBuilder<SqlBool> {
  if (words.length === 0) return sql<SqlBool>`1 = 0`;
  const index = sql.raw(`catalog.${table}_search`);
  // Words hold letters, digits and the mark of a stem only, so quoting them is enough.
  return engine === 'sqlite'
    ? sql<SqlBool>`${number} in (
        select rowid from ${index} where ${sql.raw(`${table}_search`)} match ${words.map(fts5Term).join(' AND ')})`
    : sql<SqlBool>`${number} in (
        select number from ${index} as entry where entry.words @@ ${words.map(tsqueryTerm).join(' & ')}::tsquery)`;
}

function fts5Term({ prefix, stemToken }: QueryWord): string {
  return stemToken === null ? `"${prefix}" *` : `("${prefix}" * OR "${stemToken}")`;
}

function tsqueryTerm({ prefix, stemToken }: QueryWord): string {
  return stemToken === null ? `'${prefix}':*` : `('${prefix}':* | '${stemToken}')`;
}

/** Writes the entries of records that are new or changed. */
export async function writeSearchEntries(
  { engine, kysely }: Database,
  table: SearchedTable,
  entries: readonly SearchEntry[],
): Promise<void> {
  if (entries.length === 0) return;
  const index = sql.raw(`catalog.${table}_search`);
  const rows = JSON.stringify(entries.map(({ number, tokens }) => [number, tokens.join(' ')]));
  if (engine === 'sqlite') {
    await sql`insert or replace into ${index} (rowid, words)
      select value ->> 0, value ->> 1 from json_each(${rows})`.execute(kysely);
  } else {
    await sql`insert into ${index} (number, words)
      select (value ->> 0)::bigint, array_to_tsvector(string_to_array(value ->> 1, ' '))
      from jsonb_array_elements(${rows}::jsonb)
      on conflict (number) do update set words = excluded.words`.execute(kysely);
  }
}

/** Drops the entries of records that were removed. */
export async function removeSearchEntries(
  { engine, kysely }: Database,
  table: SearchedTable,
  numbers: readonly number[],
): Promise<void> {
  const index = sql.raw(`catalog.${table}_search`);
  const list = JSON.stringify(numbers);
  if (engine === 'sqlite') {
    await sql`delete from ${index} where rowid in (select value from json_each(${list}))`.execute(kysely);
  } else {
    await sql`delete from ${index} where number in
      (select value::bigint from jsonb_array_elements_text(${list}::jsonb))`.execute(kysely);
  }
}
