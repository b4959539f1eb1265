import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { sql } from 'kysely';
import { afterEach, beforeEach, expect, inject, test } from 'vitest';
import type { OpenDatabase } from '../../src/database/database.ts';
import { SchemaVersionError } from '../../src/database/errors.ts';
import { migrate, prepareSchema, readSchemaState } from '../../src/database/migrator.ts';
import { MIGRATIONS } from '../../src/database/migrations.ts';
import { createEmptyDatabase, type TestDatabase } from '../support/database.ts';

const clock = (): number => Date.parse('2026-04-15T09:00:00.000Z');
const EVERY_MIGRATION = [...MIGRATIONS.catalog, ...MIGRATIONS.access].length;

let made: TestDatabase;
let database: OpenDatabase;

beforeEach(async () => {
  made = await createEmptyDatabase();
  ({ database } = made);
});

afterEach(() => made.drop());

test('an empty database is migrated once, and then left as it is', async () => {
  expect(await readSchemaState(database)).toMatchObject({ isEmpty: true });
  expect(await migrate(database, clock)).toHaveLength(EVERY_MIGRATION);
  const secret = await readCursorSecret();
  expect(await migrate(database, clock)).toEqual([]);
  expect(await readSchemaState(database)).toEqual({ isEmpty: false, pending: [] });
  expect(await readCursorSecret()).toBe(secret);
});

test('processes that migrate an empty database at once all end with the newest schema', async () => {
  const processes = Array.from({ length: 3 }, () => runProgram('migrate-process.ts', JSON.stringify(made.config)));
  const ran = (await Promise.all(processes)).flatMap((output) => JSON.parse(output) as string[]);
  expect(ran).toHaveLength(EVERY_MIGRATION);
  expect(await readSchemaState(database)).toEqual({ isEmpty: false, pending: [] });
});

test('an empty database is made ready by the first command that meets it', async () => {
  expect(await prepareSchema(database, clock)).toHaveLength(EVERY_MIGRATION);
  expect(await prepareSchema(database, clock)).toEqual([]);
});

test('a first migration that was cut off between its two groups is brought to its end by the next command', async () => {
  await migrate(database, clock);
  for (const table of ['keys', 'grants', 'partners', 'clock', 'settings', 'migrations']) {
    await sql.raw(`drop table access.${table}`).execute(database.kysely);
  }
  expect(await prepareSchema(database, clock)).toHaveLength(MIGRATIONS.access.length);
  expect(await readSchemaState(database)).toEqual({ isEmpty: false, pending: [] });
});

test('an older SQLite file is migrated by itself, an older PostgreSQL schema only by pds migrate', async () => {
  await migrate(database, clock);
  await undoSearchIndexes();
  if (inject('engine') === 'postgres') {
    await expect(prepareSchema(database, clock)).rejects.toThrow(/run "pds migrate"/);
    expect(await migrate(database, clock)).toEqual(['catalog 2: search indexes']);
  } else {
    expect(await prepareSchema(database, clock)).toEqual(['catalog 2: search indexes']);
  }
  expect(await readSchemaState(database)).toEqual({ isEmpty: false, pending: [] });
});

test('a schema that a newer version made is refused, with what to do', async () => {
  await migrate(database, clock);
  await database.kysely
    .insertInto('catalog.migrations')
    .values({ number: 999, name: 'from the future', applied_at: '2030-01-01T00:00:00.000Z' })
    .execute();
  await expect(prepareSchema(database, clock)).rejects.toThrow(SchemaVersionError);
  await expect(migrate(database, clock)).rejects.toThrow(/999.*start the version that migrated it, or a newer one/);
});

async function readCursorSecret(): Promise<string> {
  const row = await database.kysely
    .selectFrom('access.settings')
    .select('value')
    .where('name', '=', 'cursor_secret')
    .executeTakeFirstOrThrow();
  return row.value;
}

async function undoSearchIndexes(): Promise<void> {
  for (const table of ['certifications', 'suppliers', 'contracts', 'solicitations']) {
    await sql.raw(`drop table catalog.${table}_search`).execute(database.kysely);
  }
  await database.kysely.deleteFrom('catalog.migrations').where('number', '=', 2).execute();
}

/** Runs a program of test/support; SQLite waits for a lock by holding its thread, so that one process cannot race with itself. */
async function runProgram(name: string, argument: string): Promise<string> {
  const path = fileURLToPath(new URL(`../support/${name}`, import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, [path, argument]);
  return stdout;
}
