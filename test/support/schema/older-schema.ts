import { sql } from 'kysely';
import type { Database } from '../../../src/database/database.ts';
import type { TableGroup } from '../../../src/database/migrations/migration.ts';
import { MIGRATIONS } from '../../../src/database/migrations/migrations.ts';

/** Creates the schema of an older version: the first N steps of each group. */
export async function makeOlderSchema({ kysely, engine }: Database, steps: Record<TableGroup, number>): Promise<void> {
  for (const group of ['catalog', 'access'] as const) {
    if (engine === 'postgres') await sql.raw(`create schema ${group}`).execute(kysely);
    await sql
      .raw(`create table ${group}.migrations (number bigint primary key, name text not null, applied_at text not null)`)
      .execute(kysely);
    for (const migration of MIGRATIONS[group].slice(0, steps[group])) {
      const { number, name } = migration;
      for (const statement of migration.statements?.(engine) ?? []) await sql.raw(statement).execute(kysely);
      await kysely.insertInto(`${group}.migrations`).values({ number, name, applied_at: '' }).execute();
    }
  }
}

/** Inserts suppliers in the schema of the catalog's first two steps. */
export async function insertOlderSuppliers({ kysely }: Database, ids: readonly string[]): Promise<void> {
  for (const [index, id] of ids.entries()) {
    await sql`insert into catalog.suppliers
      (number, id, hash, changed_publication, document, certifications_preview, certifications_all)
      values (${index + 1}, ${id}, 'h', 1, ${olderDocument(id)}, '[]', '[]')`.execute(kysely);
  }
}

/** The stored document of one of these suppliers. */
export function olderDocument(id: string): string {
  return `{"id":"${id}","name":"${id}","states_served":[],"location":null,"logo":null,"email":null,"website":null`;
}

/** Inserts a publication in the schema of the catalog's first three steps. */
export async function insertOlderPublication({ kysely }: Database, number = 1): Promise<void> {
  const timestamp = `2026-01-0${number}T00:00:00.000Z`;
  await sql`insert into catalog.publications (number, instant) values (${number}, ${timestamp})`.execute(kysely);
  await sql`update access.clock set last_publication = ${timestamp}, last_instant = ${timestamp}`.execute(kysely);
}
