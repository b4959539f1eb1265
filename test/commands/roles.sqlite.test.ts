import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { callPds } from './call-pds.ts';
import { databaseUrlOf } from './run-pds.ts';

let made: TestDatabase;

beforeAll(async () => {
  made = await createTestDatabase();
});
afterAll(() => made.drop());

test('pds roles reports that SQLite has no roles', async () => {
  const { code, stdout, stderr } = await callPds(['roles'], { PDS_DATABASE_URL: databaseUrlOf(made.config) });
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toContain('"pds roles" requires PostgreSQL');
});
