import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeQueries } from '../queries/describe-queries.ts';
import type { Engine } from '../../src/database/database.ts';
import { createDatabaseOf, type TestDatabase } from '../../test/support/database.ts';

const FOLDER = fileURLToPath(new URL('../../docs/queries', import.meta.url));

let databases: Record<Engine, TestDatabase>;

beforeAll(async () => {
  databases = { sqlite: await createDatabaseOf('sqlite'), postgres: await createDatabaseOf('postgres') };
});
afterAll(() => Promise.all(Object.values(databases).map((made) => made.drop())));

test('docs/queries is up to date with "npm run queries"', async () => {
  const { sqlite, postgres } = databases;
  if (postgres.config.engine !== 'postgres') throw new Error('not a PostgreSQL database');
  const written = await describeQueries(sqlite.database, postgres.database, postgres.config.url);
  const found = readdirSync(FOLDER).map((name) => [name, readFileSync(`${FOLDER}/${name}`, 'utf8')] as const);
  expect(Object.fromEntries(found)).toEqual(Object.fromEntries(written));
}, 60_000);
