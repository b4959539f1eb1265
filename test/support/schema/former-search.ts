import { sql } from 'kysely';
import type { Database } from '../../../src/database/database.ts';

/* The search tables of versions up to 1.1. */

type FormerlySearched = 'certifications' | 'suppliers' | 'contracts' | 'solicitations';

/** The sorted tokens of every search entry, by the id of its record. */
export async function entriesOf(
  { engine, kysely }: Database,
  kind: FormerlySearched,
): Promise<Record<string, string[]>> {
  const index = `${kind}_search`;
  if (engine === 'sqlite') {
    await sql
      .raw(`create virtual table if not exists temp.${index}_terms using fts5vocab(catalog, ${index}, instance)`)
      .execute(kysely);
  }
  const entries =
    engine === 'sqlite'
      ? sql`select doc as number, term as token from temp.${sql.raw(`${index}_terms`)}`
      : sql`select number, unnest(tsvector_to_array(words)) as token from catalog.${sql.raw(index)}`;
  const id = sql.ref(kind === 'certifications' ? 'record.abbreviation' : 'record.id');
  const { rows } = await sql<{ id: string; token: string }>`select ${id} as id, entry.token
    from (${entries}) as entry join ${sql.table(`catalog.${kind}`)} as record on record.number = entry.number`.execute(
    kysely,
  );
  const tokens: Record<string, string[]> = {};
  for (const { id: record, token } of rows) (tokens[record] ??= []).push(token);
  for (const list of Object.values(tokens)) list.sort();
  return tokens;
}

/** Writes search entries, given as space-separated tokens by the number of the record. */
export async function insertEntries(
  { engine, kysely }: Database,
  kind: FormerlySearched,
  entries: Readonly<Record<number, string>>,
): Promise<void> {
  const table = sql.raw(`catalog.${kind}_search`);
  for (const [number, words] of Object.entries(entries)) {
    await (
      engine === 'sqlite'
        ? sql`insert into ${table} (rowid, words) values (${Number(number)}, ${words})`
        : sql`insert into ${table} (number, words)
          values (${Number(number)}, array_to_tsvector(string_to_array(${words}, ' ')))`
    ).execute(kysely);
  }
}
