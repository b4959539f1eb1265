import type { Database } from '../database/database.ts';
import { isOneOf } from '../database/engine-sql.ts';
import type { Tables } from '../database/tables.ts';
import type { NumberedKind } from './records.ts';
import { deleteRows } from './rows.ts';
import type { ImportContext } from './import-context.ts';

/** A table of references from records, and its column with the record's id. */
type ChildTable = {
  [T in keyof Tables]: { table: T; column: string & keyof Tables[T] };
}[keyof Tables];

/** The ids of all records of a kind. */
export async function listIds({ kysely }: Database, table: NumberedKind): Promise<string[]> {
  const rows = await kysely.selectFrom(`catalog.${table}`).select('id').execute();
  return rows.map(({ id }) => id);
}

/** The hashes of these records' last imported lines. */
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

/** The row number and position of a stored record. */
export function rowOf({ number, position }: { number: number; position: number }): {
  number: number;
  position: number;
} {
  return { number, position };
}

/** Removes records from their table, the index and the tables that list their references. */
export async function removeRecords(
  { database, index, formerSearch }: ImportContext,
  kind: NumberedKind,
  ids: readonly string[],
  children: readonly ChildTable[] = [],
): Promise<void> {
  const { engine, kysely } = database;
  const rows = await kysely
    .selectFrom(`catalog.${kind}`)
    .select(['id', 'number', 'position'])
    .where((eb) => isOneOf(engine, eb.ref('id'), ids))
    .execute();
  await formerSearch?.remove(
    kind,
    rows.map(({ number }) => number),
  );
  await index[kind].remove(rows);
  for (const { table: child, column } of children) await deleteRows(database, child, column as never, ids);
  await deleteRows(database, `catalog.${kind}`, 'id', ids);
}
