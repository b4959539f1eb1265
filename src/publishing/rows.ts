import { hash } from 'node:crypto';
import { sql, type Insertable, type RawBuilder } from 'kysely';
import type { Database } from '../database/database.ts';
import { isOneOf } from '../database/engine-sql.ts';
import type { Tables } from '../database/tables.ts';

/** Rows in one statement, whose text has to be held as a whole. */
const ROWS_AT_ONCE = 2_000;

/** A row to be written. */
export interface RowToWrite<T extends keyof Tables> {
  row: Insertable<Tables[T]>;
  /** No row with its key is there. */
  isNew: boolean;
}

/**
 * Writes rows that are known to be new or to be there. On SQLite an upsert makes a savepoint,
 * at which the search index writes out what it has gathered.
 */
export async function writeRows<T extends keyof Tables>(
  database: Database,
  table: T,
  key: string,
  rows: readonly RowToWrite<T>[],
): Promise<void> {
  const rowsThatAre = (isNew: boolean) => rows.filter((written) => written.isNew === isNew).map(({ row }) => row);
  await upsertRows(database, table, key, rowsThatAre(false));
  await insertRows(database, table, rowsThatAre(true));
}

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

async function insertRows<T extends keyof Tables>(
  database: Database,
  table: T,
  rows: readonly Insertable<Tables[T]>[],
  onConflict: RawBuilder<unknown> = sql``,
): Promise<void> {
  const [first] = rows;
  if (first === undefined) return;
  const columns = Object.keys(first) as (keyof typeof first)[];
  const names = sql.join(columns.map((column) => sql.ref(String(column))));
  const into = sql`insert into ${sql.table(table)} (${names})`;
  if (database.runEach === undefined) {
    await insertAsOne(database, table, rows, sql`${into} select ${names}`, onConflict);
    return;
  }
  // One statement a row: SQLite makes a savepoint for a statement of several rows, and at each
  // savepoint its search index writes out all that it has gathered, to merge it again later. That
  // took longer than everything else.
  const places = sql.join(columns.map(() => sql`${null}`));
  const { sql: text } = sql`${into} values (${places}) ${onConflict}`.compile(database.kysely);
  database.runEach(
    text,
    rows.map((row) => columns.map((column) => row[column])),
  );
}

/** As one parameter: thousands of them take PostgreSQL longer to read than to write. */
async function insertAsOne<T extends keyof Tables>(
  { kysely }: Database,
  table: T,
  rows: readonly Insertable<Tables[T]>[],
  insertion: RawBuilder<unknown>,
  onConflict: RawBuilder<unknown>,
): Promise<void> {
  for (const chunk of inBatches(rows, ROWS_AT_ONCE)) {
    await sql`${insertion} from json_populate_recordset(null::${sql.table(table)}, ${JSON.stringify(chunk)}::json)
      ${onConflict}`.execute(kysely);
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
