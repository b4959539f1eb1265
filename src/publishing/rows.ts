import { hash } from 'node:crypto';
import { sql, type Insertable, type RawBuilder } from 'kysely';
import type { Database } from '../database/database.ts';
import { isOneOf } from '../database/engine-sql.ts';
import type { Tables } from '../database/tables.ts';

/** Values in one statement: PostgreSQL takes 65,535 parameters, SQLite 32,766. */
const MOST_PARAMETERS = 30_000;

/** Inserts rows, or replaces those whose key is there. `rows` all have the same columns. */
export async function upsertRows<T extends keyof Tables>(
  database: Database,
  table: T,
  key: string,
  rows: readonly Insertable<Tables[T]>[],
): Promise<void> {
  const columns = Object.keys(rows[0] ?? {}).filter((column) => column !== key);
  const replacement = columns.map((column) => sql`${sql.ref(column)} = ${sql.ref(`excluded.${column}`)}`);
  await insertRows(database, table, rows, sql`on conflict (${sql.ref(key)}) do update set ${sql.join(replacement)}`);
}

/** On PostgreSQL as one parameter: thousands of them take it longer to read than to write. */
async function insertRows<T extends keyof Tables>(
  { engine, kysely }: Database,
  table: T,
  rows: readonly Insertable<Tables[T]>[],
  onConflict: RawBuilder<unknown> = sql``,
): Promise<void> {
  const columns = Object.keys(rows[0] ?? {});
  for (const chunk of chunksOf(rows)) {
    const names = sql.join(columns.map((column) => sql.ref(column)));
    const values =
      engine === 'postgres'
        ? sql`select ${names} from json_populate_recordset(null::${sql.table(table)}, ${JSON.stringify(chunk)}::json)`
        : sql`values ${sql.join(
            chunk.map((row) => sql`(${sql.join(columns.map((column) => row[column as keyof typeof row]))})`),
          )}`;
    await sql`insert into ${sql.table(table)} (${names}) ${values} ${onConflict}`.execute(kysely);
  }
}

/** Replaces all rows that belong to these parents, in a table that lists what a record refers to. */
export async function replaceChildRows<T extends keyof Tables>(
  database: Database,
  table: T,
  parentColumn: string & keyof Tables[T],
  parents: readonly string[],
  rows: readonly Insertable<Tables[T]>[],
): Promise<void> {
  await deleteRows(database, table, parentColumn, parents);
  await insertRows(database, table, rows);
}

/** Deletes the rows with these keys. */
export async function deleteRows<T extends keyof Tables>(
  { engine, kysely }: Database,
  table: T,
  column: string & keyof Tables[T],
  keys: readonly string[],
): Promise<void> {
  if (keys.length === 0) return;
  await sql`delete from ${sql.table(table)} where ${isOneOf(engine, sql.ref(column), keys)}`.execute(kysely);
}

/** Tells equal records from different ones: 128 bits of SHA-256. */
export function contentHash(content: string | Uint8Array): string {
  return hash('sha256', content, 'base64url').slice(0, 22);
}

/** Cuts a list into pieces that fit into memory and into one statement. */
export function* inBatches<T>(items: readonly T[], size: number): Generator<T[]> {
  for (let start = 0; start < items.length; start += size) yield items.slice(start, start + size);
}

function chunksOf<R extends object>(rows: readonly R[]): Generator<R[]> {
  const columns = Object.keys(rows[0] ?? { none: null }).length;
  return inBatches(rows, Math.floor(MOST_PARAMETERS / columns));
}
