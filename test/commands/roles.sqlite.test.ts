import { expect, test } from 'vitest';
import { callPds } from './call-pds.ts';
import { databaseUrlOf } from './run-pds.ts';
import { databaseForAllTests } from '../support/database.ts';

const made = databaseForAllTests();

test('pds roles reports that SQLite has no roles', async () => {
  const { code, stdout, stderr } = await callPds(['roles'], { PDS_DATABASE_URL: databaseUrlOf(made.config) });
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toContain('"pds roles" requires PostgreSQL');
});
