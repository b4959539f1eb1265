import { sql, type RawBuilder } from 'kysely';
import { keyField, TABLE_OF, type Kind } from '../kinds.ts';
import type { Database } from './database.ts';
import { isOneOf, readValue } from './statement.ts';
import type { Tables } from './tables.ts';

/** Inserts rows with a new key (`isNew`), as `insertRows`; replaces the others. All must have the same columns. */
export async function writeRows(
  database: Database,
  table: keyof Tables,
  key: string,
  rows: readonly { row: object; isNew: boolean }[],
  onSent?: () => void,
): Promise<void> {
  const rowsThatAre = (isNew: boolean) => rows.filter((written) => written.isNew === isNew).map(({ row }) => row);
  const stored = rowsThatAre(false);
  const columns = columnsOf(stored).filter((column) => column !== key);
  const replacement = sql.join(columns.map((column) => sql`${sql.ref(column)} = ${sql.ref(`excluded.${column}`)}`));
  const onConflict = sql`on conflict (${sql.ref(key)}) do update set ${replacement}`;
  await insertWithStatement(database, table, stored, onConflict);
  await insertRows(database, table, rowsThatAre(true), onSent);
}

/** Inserts new rows, which must have the same columns; on PostgreSQL by COPY, with `onSent` as `CopyRows`. */
export async function insertRows(
  database: Database,
  table: keyof Tables,
  rows: readonly object[],
  onSent?: () => void,
): Promise<void> {
  if (rows.length === 0) return;
  const { kysely, copyRows } = database;
  if (copyRows === undefined) await insertWithStatement(database, table, rows, sql``);
  else await copyRows(kysely, table, columnsOf(rows), valuesOf(rows), onSent);
}

async function insertWithStatement(
  database: Database,
  table: keyof Tables,
  rows: readonly object[],
  onConflict: RawBuilder<unknown>,
): Promise<void> {
  if (rows.length === 0) return;
  const columns = columnsOf(rows);
  const names = sql.join(columns.map((column) => sql.ref(column)));
  const into = sql`insert into ${sql.table(table)} (${names})`;
  if (database.runEach === undefined) {
    // All rows are one parameter: PostgreSQL takes longer to parse thousands of them than to write the rows.
    const json = JSON.stringify(rows, (_, value: unknown) =>
      value instanceof Uint8Array ? `\\x${Buffer.from(value).toString('hex')}` : value,
    );
    await sql`${into} select ${names} from json_populate_recordset(null::${sql.table(table)}, ${json}::json)
      ${onConflict}`.execute(database.kysely);
    return;
  }
  const places = sql.join(columns.map(() => sql`${null}`));
  const { sql: text } = sql`${into} values (${places}) ${onConflict}`.compile(database.kysely);
  database.runEach(text, valuesOf(rows));
}

function columnsOf(rows: readonly object[]): string[] {
  return Object.keys(rows[0] ?? {});
}

function* valuesOf(rows: readonly object[]): Generator<unknown[]> {
  const columns = columnsOf(rows);
  for (const row of rows) yield columns.map((column) => (row as Readonly<Record<string, unknown>>)[column]);
}

export async function countRows(database: Database, table: keyof Tables): Promise<number> {
  return (await readValue<number>(database, sql`select count(*) as value from ${sql.table(table)}`)) ?? 0;
}

/** Deletes the rows with these keys. */
export async function deleteRows(
  { engine, kysely }: Database,
  table: keyof Tables,
  column: string,
  keys: readonly string[],
): Promise<void> {
  if (keys.length === 0) return;
  await sql`delete from ${sql.table(table)} where ${isOneOf(engine, sql.ref(column), keys)}`.execute(kysely);
}

/** A column or expression of each stored record among these keys, by key. Served by the unique index on the key. */
export async function loadValues<V>(
  { engine, kysely }: Database,
  kind: Kind,
  keys: readonly string[],
  value: RawBuilder<V>,
): Promise<Map<string, V>> {
  if (keys.length === 0) return new Map();
  const key = sql.ref<string>(keyField(kind));
  const { rows } = await sql<{ key: string; value: V }>`select ${key} as key, ${value} as value
    from ${sql.table(`catalog.${TABLE_OF[kind]}`)} where ${isOneOf(engine, key, keys)}`.execute(kysely);
  return new Map(rows.map((row) => [row.key, row.value]));
}

/** Splits a list into batches that fit into memory and one statement: of 500 items, unless another size is given. */
export function* inBatches<T>(items: readonly T[], size = 500): Generator<T[]> {
  for (let start = 0; start < items.length; start += size) yield items.slice(start, start + size);
}

/** The value of a row of `access.settings`; null if there is none. */
export function readStoredSetting(database: Database, name: string): Promise<string | null> {
  return readValue(database, sql`select value from access.settings where name = ${name}`);
}

/** Adds or replaces a row of `access.settings`. */
export async function storeSetting({ kysely }: Database, name: string, value: string): Promise<void> {
  await sql`insert into access.settings (name, value) values (${name}, ${value})
    on conflict (name) do update set value = excluded.value`.execute(kysely);
}

/** The setting with the time of the last backup. For PostgreSQL, `ops/record-backup.sql` stores it. */
export const LAST_BACKUP = 'last_backup';
