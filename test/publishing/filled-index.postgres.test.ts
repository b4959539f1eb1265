import { randomBytes } from 'node:crypto';
import { sql } from 'kysely';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openForCommands, type OpenDatabase } from '../../src/database/database.ts';
import { createDatabaseOf, type TestDatabase } from '../support/database.ts';
import { publishLines, supplier } from '../support/publishing.ts';
import { idsFound } from '../support/search.ts';

/** Enough for the search index to be filled aside. */
const suppliers = Array.from({ length: 5_200 }, (_, index) => ({
  ...supplier(`sup_${index}`),
  short_intro: `Unit${index}`,
  certifications: [],
  city_service_ids: [],
}));

const role = `role_${randomBytes(6).toString('hex')}`;
let made: TestDatabase;

beforeEach(async () => {
  made = await createDatabaseOf('postgres');
  await sql`create role ${sql.ref(role)} login`.execute(made.database.kysely);
});

afterEach(async () => {
  await sql`drop owned by ${sql.ref(role)}`.execute(made.database.kysely);
  await sql`drop role ${sql.ref(role)}`.execute(made.database.kysely);
  await made.drop();
});

async function indexTable({ kysely }: OpenDatabase): Promise<{ oid: number; maySelect: boolean }> {
  const { rows } = await sql<{ oid: number; maySelect: boolean }>`
    select oid::int, has_table_privilege(${role}, oid, 'select') as "maySelect"
    from pg_catalog.pg_class where oid = 'catalog.suppliers_search'::regclass`.execute(kysely);
  return rows[0] ?? { oid: 0, maySelect: false };
}

test('who may read a search index may read the one that took its place', async () => {
  const { database } = made;
  await sql`grant select on catalog.suppliers_search to ${sql.ref(role)}`.execute(database.kysely);
  const before = await indexTable(database);
  await publishLines(database, { suppliers });
  const after = await indexTable(database);
  expect(after.oid).not.toBe(before.oid);
  expect(after.maySelect).toBe(true);
  expect(await idsFound(database, 'suppliers', 'unit5199')).toEqual(['sup_5199']);
});

test('a role that owns no table, and so may not replace one, imports as much', async () => {
  const { database, config } = made;
  for (const schema of ['catalog', 'access']) {
    await sql`grant usage on schema ${sql.ref(schema)} to ${sql.ref(role)}`.execute(database.kysely);
    await sql`grant select, insert, update, delete on all tables in schema ${sql.ref(schema)} to ${sql.ref(role)}`.execute(
      database.kysely,
    );
  }
  if (config.engine !== 'postgres') throw new Error('this is a test of PostgreSQL');
  const url = new URL(config.url);
  url.username = role;
  const before = await indexTable(database);
  const importing = openForCommands({ engine: 'postgres', url: url.href });
  try {
    const { kinds } = await publishLines(importing, { suppliers });
    expect(kinds.suppliers).toMatchObject({ added: suppliers.length });
  } finally {
    await importing.close();
  }
  expect((await indexTable(database)).oid).toBe(before.oid);
  expect(await idsFound(database, 'suppliers', 'unit5199')).toEqual(['sup_5199']);
});
