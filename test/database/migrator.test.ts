import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { sql } from 'kysely';
import { expect, inject, test } from 'vitest';
import { SchemaVersionError } from '../../src/database/database.ts';
import { migrate, prepareSchema, readSchemaState } from '../../src/database/migrations/migrator.ts';
import { openForServing } from '../../src/database/open.ts';
import { readCursorSecret } from '../../src/http/request/page-parameters.ts';
import { callPds } from '../commands/call-pds.ts';
import { createEmptyDatabase } from '../support/database.ts';
import { forEachTest } from '../support/lifetimes.ts';
import { publishLines, SMALL_CATALOG } from '../support/publishing.ts';
import { changeStored } from '../support/stored-catalog.ts';
import { becomeLaterVersion, LATER_SETTINGS, UPGRADE } from '../support/schema/later-version.ts';

const clock = (): number => Date.parse('2026-04-15T09:00:00.000Z');
const isSqlite = inject('engine') === 'sqlite';
// SQLite has no catalog before the first release.
const CREATIONS = [...(isSqlite ? [] : ['catalog 9: tables of the catalog']), 'access 9: tables of partners and keys'];

const made = forEachTest(createEmptyDatabase);

/** Publishes records, and makes this process a later version, to which the database must be upgraded. */
async function becomeOutdated(): Promise<Disposable> {
  await migrate(made.database, clock);
  await publishLines(made.database, SMALL_CATALOG);
  return becomeLaterVersion();
}

test.each([
  ['pds migrate', migrate],
  ['the first command', prepareSchema],
])('%s prepares an empty database once, and then leaves it unchanged', async (_, prepare) => {
  expect(await readSchemaState(made.database)).toMatchObject({ isEmpty: true });
  expect(await prepare(made.database, clock)).toEqual(CREATIONS);
  const secret = await readCursorSecret(made.database);
  expect(await prepare(made.database, clock)).toEqual([]);
  expect(await readSchemaState(made.database)).toEqual({ isEmpty: false, pending: [] });
  expect(await readCursorSecret(made.database)).toEqual(secret);
});

test.each([
  ['an empty', false, CREATIONS],
  // Prepared once, although several processes have seen the older schema.
  ['an older', true, [...UPGRADE, 'prepared']],
])('processes that migrate %s database at once all end with the newest schema', async (_, isOlder, pending) => {
  using _later = isOlder ? await becomeOutdated() : null;
  // SQLite waits for a lock by blocking its thread, so one process cannot race with itself.
  const program = fileURLToPath(new URL('../support/process/migrate-process.ts', import.meta.url));
  const env = { ...process.env, ...(isOlder && LATER_SETTINGS) };
  const migrating = async (): Promise<string[]> => {
    const { stdout } = await promisify(execFile)(process.execPath, [program, JSON.stringify(made.config)], { env });
    return JSON.parse(stdout) as string[];
  };
  const ran = (await Promise.all(Array.from({ length: 4 }, migrating))).flat();
  // Each can have made a backup before it waits for the others.
  expect(ran.toSorted().filter((name, index, all) => name !== 'prepared' || all[index - 1] !== name)).toEqual(
    pending.toSorted(),
  );
  expect(await readSchemaState(made.database)).toEqual({ isEmpty: false, pending: [] });
});

test('a first migration interrupted between its two groups is completed by the next command', async () => {
  await migrate(made.database, clock);
  for (const table of ['audit', 'usage', 'keys', 'grants', 'events', 'partners', 'settings', 'migrations']) {
    await sql.raw(`drop table access.${table}`).execute(made.database.kysely);
  }
  expect(await prepareSchema(made.database, clock)).toEqual(CREATIONS.slice(-1));
  expect(await readSchemaState(made.database)).toEqual({ isEmpty: false, pending: [] });
});

test('an older schema is migrated only by what prepares the upgrade, and on PostgreSQL only by pds migrate', async () => {
  using _later = await becomeOutdated();
  await expect(prepareSchema(made.database, clock)).rejects.toThrow(/run "pds migrate"/);
  let prepared = 0;
  const beforeUpgrade = async (): Promise<void> => {
    const reader = openForServing(made.config);
    expect((await readSchemaState(reader)).pending).toEqual(UPGRADE);
    await reader.close();
    prepared += 1;
  };
  if (inject('engine') === 'postgres') {
    await expect(prepareSchema(made.database, clock, 'serve', { beforeUpgrade })).rejects.toThrow(/run "pds migrate"/);
    expect(await migrate(made.database, clock)).toEqual(UPGRADE);
  } else {
    expect(await prepareSchema(made.database, clock, 'serve', { beforeUpgrade })).toEqual(UPGRADE);
    expect(prepared).toBe(1);
  }
  expect(await readSchemaState(made.database)).toEqual({ isEmpty: false, pending: [] });
});

test('an upgrade that cannot be prepared changes no table', async () => {
  using _later = await becomeOutdated();
  const beforeUpgrade = () => Promise.reject(new Error('no room'));
  await expect(migrate(made.database, clock, { beforeUpgrade })).rejects.toThrow('no room');
  expect((await readSchemaState(made.database)).pending).toEqual(UPGRADE);
});

test.each([
  ['contracts', 'ctr_1', 'a contract has'],
  ['suppliers', 'sup_1', 'a supplier has'],
])('an upgrade stops before it changes anything if one of %s has the id of a count', async (table, id, reason) => {
  await migrate(made.database, clock);
  await publishLines(made.database, SMALL_CATALOG);
  await changeStored(made.database, ({ kysely }) =>
    sql`update ${sql.table(`catalog.${table}`)} set id = 'count' where id = ${id}`.execute(kysely),
  );
  const beforeUpgrade = () => Promise.reject(new Error('it began'));
  const refusal = new RegExp(`^${reason} the id "count", .*Nothing was changed$`);
  await expect(prepareSchema(made.database, clock, 'serve', { beforeUpgrade })).rejects.toThrow(refusal);
  const { code, stderr } = await callPds(['migrate'], made.settings);
  expect([code, stderr]).toEqual([1, expect.stringContaining(`error: ${reason} the id "count"`)]);
  // An import can still give it another one.
  expect(await prepareSchema(made.database, clock)).toEqual([]);
  using _later = becomeLaterVersion();
  await expect(prepareSchema(made.database, clock, 'command', { beforeUpgrade })).rejects.toThrow(refusal);
  expect((await readSchemaState(made.database)).pending).toEqual(UPGRADE);
});

test('a schema that a newer version only added to can be served, but commands refuse it, with what to do', async () => {
  await migrate(made.database, clock);
  const { kysely } = made.database;
  const added = { number: 999, name: 'added in the future', applied_at: '2030-01-01T00:00:00.000Z' };
  for (const group of ['catalog', 'access'] as const) {
    await kysely.insertInto(`${group}.migrations`).values(added).execute();
    expect(await prepareSchema(made.database, clock, 'serve')).toEqual([]);
    await expect(prepareSchema(made.database, clock)).rejects.toThrow(SchemaVersionError);
    await expect(migrate(made.database, clock)).rejects.toThrow(
      /999.*start the version that migrated it, or a newer one/,
    );
  }

  const breaking = { value: '999' };
  await kysely.updateTable('access.settings').set(breaking).where('name', '=', 'oldest_served_catalog').execute();
  await expect(prepareSchema(made.database, clock, 'serve')).rejects.toThrow(SchemaVersionError);
});
