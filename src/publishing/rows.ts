import { hash } from 'node:crypto';
import { sql, type Insertable } from 'kysely';
import type { Database } from '../database/database.ts';
import { isOneOf } from '../database/engine-sql.ts';
import type { Tables } from '../database/tables.ts';

/** Values in one statement: PostgreSQL takes 65,535 parameters, SQLite 32,766. */
const MOST_PARAMETERS = 30_000;

type NumberedTable = 'catalog.certifications' | 'catalog.suppliers' | 'catalog.contracts' | 'catalog.solicitations';

/** Inserts rows, or replaces those whose key is there. `rows` all have the same columns. */
export async function upsertRows<T extends keyof Tables>(
  { kysely }: Database,
  table: T,
  key: string,
  rows: readonly Insertable<Tables[T]>[],
): Promise<void> {
  for (const chunk of chunksOf(rows)) {
    const columns = Object.keys(chunk[0] ?? {}).filter((column) => column !== key);
    const replacement = Object.fromEntries(columns.map((column) => [column, sql.ref(`excluded.${column}`)]));
    await kysely
      .insertInto(table)
      .values(chunk)
      .onConflict((conflict) => conflict.column(key as never).doUpdateSet(replacement as never))
      .execute();
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
  for (const chunk of chunksOf(rows)) {
    await database.kysely.insertInto(table).values(chunk).execute();
  }
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

/** Gives out the row numbers of new records. */
export async function numberSeries({ kysely }: Database, table: NumberedTable): Promise<() => number> {
  const { last } = await kysely
    .selectFrom(table)
    .select((eb) => eb.fn.max('number').as('last'))
    .executeTakeFirstOrThrow();
  let number = (last as number | null) ?? 0;
  return () => (number += 1);
}

/** Tells equal records from different ones: 128 bits of SHA-256. */
export function contentHash(text: string): string {
  return hash('sha256', text, 'base64url').slice(0, 22);
}

/** Cuts a list into pieces that fit into memory and into one statement. */
export function* inBatches<T>(items: readonly T[], size: number): Generator<T[]> {
  for (let start = 0; start < items.length; start += size) yield items.slice(start, start + size);
}

function chunksOf<R extends object>(rows: readonly R[]): Generator<R[]> {
  const columns = Object.keys(rows[0] ?? { none: null }).length;
  return inBatches(rows, Math.floor(MOST_PARAMETERS / columns));
}
