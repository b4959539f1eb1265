import type { Database } from '../database/database.ts';
import { isOneOf } from '../database/engine-sql.ts';
import type { Tables } from '../database/tables.ts';
import { removeSearchEntries } from '../search/write-entries.ts';
import type { NumberedKind } from './records.ts';
import { deleteRows } from './rows.ts';

/** A table whose rows list what a record names, and the column of the record's id. */
type ChildTable = {
  [T in keyof Tables]: { table: T; column: string & keyof Tables[T] };
}[keyof Tables];

/** The ids of all records of a kind. */
export async function listIds({ kysely }: Database, table: NumberedKind): Promise<string[]> {
  const rows = await kysely.selectFrom(`catalog.${table}`).select('id').execute();
  return rows.map(({ id }) => id);
}

/** The hashes of the lines that these records were last imported from. */
export async function loadLineHashes(
  { engine, kysely }: Database,
  table: NumberedKind,
  ids: readonly string[],
): Promise<Map<string, string>> {
  const rows = await kysely
    .selectFrom(`catalog.${table}`)
    .select(['id', 'line_hash'])
    .where((eb) => isOneOf(engine, eb.ref('id'), ids))
    .execute();
  return new Map(rows.map(({ id, line_hash }) => [id, line_hash]));
}

/** Removes records with their search entries and with what lists the records that they name. */
export async function removeRecords(
  database: Database,
  table: NumberedKind,
  ids: readonly string[],
  children: readonly ChildTable[] = [],
): Promise<void> {
  const { engine, kysely } = database;
  const rows = await kysely
    .selectFrom(`catalog.${table}`)
    .select('number')
    .where((eb) => isOneOf(engine, eb.ref('id'), ids))
    .execute();
  await removeSearchEntries(
    database,
    table,
    rows.map(({ number }) => number),
  );
  for (const { table: child, column } of children) await deleteRows(database, child, column as never, ids);
  await deleteRows(database, `catalog.${table}`, 'id', ids);
}
