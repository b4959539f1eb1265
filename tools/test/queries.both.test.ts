import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeQueries } from '../queries/describe-queries.ts';
import { fillDatabase } from '../queries/generated-database.ts';
import { findScansOnPostgres, findScansOnSqlite } from '../queries/plans.ts';
import { listServingStatements } from '../queries/serving-statements.ts';
import type { Engine } from '../../src/database/database.ts';
import { createDatabaseOf, type TestDatabase } from '../../test/support/database.ts';

const FOLDER = fileURLToPath(new URL('../../docs/queries', import.meta.url));

/** Statements that scan a table that grows, on both databases. */
const SCANS = [
  { name: 'suppliers by text', text: "select id from catalog.suppliers where document = ''" },
  { name: 'all grants', text: 'select partner_id from access.grants order by granted_at' },
];

let databases: Record<Engine, TestDatabase>;

beforeAll(async () => {
  databases = { sqlite: await createDatabaseOf('sqlite'), postgres: await createDatabaseOf('postgres') };
});
afterAll(() => Promise.all(Object.values(databases).map((made) => made.drop())));

test('docs/queries is up to date with "npm run queries"', async () => {
  const written = await describeQueries(databases.sqlite.database, databases.postgres.database);
  const found = readdirSync(FOLDER).map((name) => [name, readFileSync(`${FOLDER}/${name}`, 'utf8')] as const);
  expect(Object.fromEntries(found)).toEqual(Object.fromEntries(written));
}, 60_000);

test('no statement that serves requests scans a table that grows', async () => {
  const {
    sqlite: { database: sqlite },
    postgres: { database: postgres, config },
  } = databases;
  if (config.engine !== 'postgres') throw new Error('not a PostgreSQL database');
  await fillDatabase(postgres);
  const [onSqlite, onPostgres] = [await listServingStatements(sqlite), await listServingStatements(postgres)];
  expect(await findScansOnSqlite(sqlite, onSqlite)).toEqual([]);
  expect(await findScansOnPostgres(config.url, onPostgres)).toEqual([]);
  const names = SCANS.map(({ name }) => name);
  expect((await findScansOnSqlite(sqlite, SCANS)).map(({ statement }) => statement)).toEqual(names);
  expect((await findScansOnPostgres(config.url, SCANS)).map(({ statement }) => statement)).toEqual(names);
}, 60_000);
