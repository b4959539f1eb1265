import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { sql } from 'kysely';
import { afterEach, beforeEach, expect, inject, test } from 'vitest';
import type { OpenDatabase } from '../../src/database/database.ts';
import { SchemaVersionError } from '../../src/database/errors.ts';
import { migrate, prepareSchema, readSchemaState } from '../../src/database/migrator.ts';
import { MIGRATIONS } from '../../src/database/migrations.ts';
import { STRIDE } from '../../src/database/renumbering.ts';
import { coopMark, deadlineMarks, leadEntityMark, statusMark } from '../../src/search/marks.ts';
import { writeSearchEntries } from '../../src/search/write-entries.ts';
import { createEmptyDatabase, type TestDatabase } from '../support/database.ts';
import { insertOlderSuppliers, makeOlderSchema } from '../support/older-schema.ts';
import { entriesOf, idsFound } from '../support/search.ts';

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

test.each([
  ['an empty', null],
  ['an older', { catalog: 2, access: 1 }],
])('processes that migrate %s database at once all end with the newest schema', async (_, older) => {
  if (older !== null) await makeOlderSchema(database, older);
  const pending = EVERY_MIGRATION - (older === null ? 0 : older.catalog + older.access);
  const processes = Array.from({ length: 4 }, () => runProgram('migrate-process.ts', JSON.stringify(made.config)));
  const ran = (await Promise.all(processes)).flatMap((output) => JSON.parse(output) as string[]);
  expect(ran).toHaveLength(pending);
  expect(await readSchemaState(database)).toEqual({ isEmpty: false, pending: [] });
});

test('an empty database is made ready by the first command that meets it', async () => {
  expect(await prepareSchema(database, clock)).toHaveLength(EVERY_MIGRATION);
  expect(await prepareSchema(database, clock)).toEqual([]);
});

test('a key that was rotated before its life was kept apart gets it back from the audit trail', async () => {
  await makeOlderSchema(database, { catalog: MIGRATIONS.catalog.length, access: 2 });
  const { kysely } = database;
  const [issued, cut, end] = ['2026-04-01T00:00:00.000Z', '2026-04-16T00:00:00.000Z', '2027-04-01T00:00:00.000Z'];
  await kysely
    .insertInto('access.partners')
    .values({ name: 'acme', grants_changed_at: issued, created_at: issued })
    .execute();
  const key = async (id: string, expires_at: string | null): Promise<void> => {
    await sql`insert into access.keys (id, partner_id, digest, environment, created_at, expires_at)
      select ${id}, id, '', 'test', ${issued}, ${expires_at} from access.partners`.execute(kysely);
  };
  const audit = async (action: string, key_id: string, details: object): Promise<void> => {
    const row = { at: issued, actor: 'alice@desk', partner: 'acme', action, key_id, details: JSON.stringify(details) };
    await kysely.insertInto('access.audit').values(row).execute();
  };
  await key('rotated0', cut);
  await audit('key issue', 'rotated0', { environment: 'test', expires_at: end });
  await audit('key rotate', 'rotated0', { good_until: cut, replaced_by: 'rotated1', expires_at: end });
  await key('rotated1', cut);
  await audit('key rotate', 'rotated1', { good_until: cut, replaced_by: 'newest00', expires_at: end });
  await key('newest00', end);
  await key('forever0', cut);
  await audit('key issue', 'forever0', { environment: 'test', expires_at: null });
  await audit('key rotate', 'forever0', { good_until: cut, replaced_by: 'newest00', expires_at: null });
  await key('plain000', end);
  await key('untraced', cut);
  await audit('key rotate', 'untraced', { good_until: cut, replaced_by: 'newest00', expires_at: null });
  await migrate(database, clock);
  const keys = await kysely
    .selectFrom('access.keys')
    .select(['id', 'expires_at', 'issued_expires_at', 'replaced_by'])
    .orderBy('id')
    .execute();
  expect(keys.map((row) => Object.values(row))).toEqual([
    ['forever0', cut, null, 'newest00'],
    ['newest00', end, end, null],
    ['plain000', end, end, null],
    ['rotated0', cut, end, 'rotated1'],
    ['rotated1', cut, end, 'newest00'],
    ['untraced', cut, cut, 'newest00'],
  ]);
});

test('a first migration that was cut off between its two groups is brought to its end by the next command', async () => {
  await migrate(database, clock);
  for (const table of [
    'audit',
    'usage',
    'keys',
    'grant_changes',
    'grants',
    'partners',
    'clock',
    'settings',
    'migrations',
  ]) {
    await sql.raw(`drop table access.${table}`).execute(database.kysely);
  }
  expect(await prepareSchema(database, clock)).toHaveLength(MIGRATIONS.access.length);
  expect(await readSchemaState(database)).toEqual({ isEmpty: false, pending: [] });
});

test('an older SQLite file is migrated by itself, an older PostgreSQL schema only by pds migrate', async () => {
  await makeOlderSchema(database, { catalog: 2, access: MIGRATIONS.access.length });
  if (inject('engine') === 'postgres') {
    await expect(prepareSchema(database, clock)).rejects.toThrow(/run "pds migrate"/);
    expect(await migrate(database, clock)).toEqual(['catalog 3: numbers in the order of ids']);
  } else {
    expect(await prepareSchema(database, clock)).toEqual(['catalog 3: numbers in the order of ids']);
  }
  expect(await readSchemaState(database)).toEqual({ isEmpty: false, pending: [] });
});

test('records of an older schema get numbers in the order of their ids, and are found by the words they had', async () => {
  await makeOlderSchema(database, { catalog: 2, access: MIGRATIONS.access.length });
  const ids = ['m', 'b', 'z', 'a', 'x'];
  await insertOlderSuppliers(database, ids);
  await writeSearchEntries(
    database,
    'suppliers_search',
    ids.map((id, index) => ({ number: index + 1, words: `shared =share only${id}`, isNew: true })),
  );
  await migrate(database, clock);
  const rows = await database.kysely
    .selectFrom('catalog.suppliers')
    .select(['id', 'number', 'document', 'line_hash'])
    .orderBy('number')
    .execute();
  expect(rows).toEqual(
    ids.toSorted().map((id, index) => ({ id, document: id, number: (index + 1) * STRIDE, line_hash: '' })),
  );
  for (const [word, expected] of [
    ['shared', ids],
    ['share', ids],
    ...ids.map((id) => [`only${id}`, [id]] as const),
  ] as const) {
    expect(await idsFound(database, 'suppliers', word)).toEqual([...expected].sort());
  }
});

test('search entries of an older schema get the marks that an import gives them, and totals are counted', async () => {
  await makeOlderSchema(database, { catalog: 2, access: MIGRATIONS.access.length });
  const owner = 'City_of-A';
  const closeAt = '2026-02-03T04:05:06.789Z';
  for (const [index, { status, close_at }] of [
    { status: 'open', close_at: closeAt },
    { status: 'closed', close_at: null },
    { status: 'draft', close_at: closeAt },
  ].entries()) {
    await sql`insert into catalog.solicitations (number, id, hash, changed_publication, ref, lead_entity_id, status, close_at,
        own_hash, updated_publication, document, detail)
      values (${index + 1}, ${status}, 'h', 1, ${index + 1}, ${owner}, ${status}, ${close_at}, 'h', 1, '', '')`.execute(
      database.kysely,
    );
  }
  for (const [index, coop] of [null, 'coop-A'].entries()) {
    await sql`insert into catalog.contracts (number, id, hash, changed_publication, lead_entity_id, coop_id, document)
      values (${index + 1}, ${`c${index}`}, 'h', 1, ${owner}, ${coop}, '')`.execute(database.kysely);
  }
  const entries = [1, 2, 3].map((number) => ({ number, words: 'word =stem', isNew: true }));
  await writeSearchEntries(database, 'solicitations_search', entries);
  await writeSearchEntries(database, 'contracts_search', entries.slice(0, 2));
  await migrate(database, clock);
  const ofBoth = ['word', '=stem', leadEntityMark(owner), ...(inject('engine') === 'sqlite' ? ['+w', '+wor'] : [])];
  expect(await entriesOf(database, 'solicitations')).toEqual({
    open: [...ofBoth, statusMark('open'), ...deadlineMarks(closeAt)].sort(),
    closed: [...ofBoth, statusMark('closed')].sort(),
  });
  const totals = await database.kysely.selectFrom('catalog.solicitation_totals').selectAll().execute();
  expect(totals.map((row) => Object.values(row).join(' ')).sort()).toEqual(
    ['', owner].flatMap((of) => [`${of} closed  1`, `${of} open 2026-02 1`]).sort(),
  );
  expect(await entriesOf(database, 'contracts')).toEqual({
    c0: [...ofBoth].sort(),
    c1: [...ofBoth, coopMark('coop-A')].sort(),
  });
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

test('a schema that a newer version only added to is served, and refused to commands, which would write to it', async () => {
  await migrate(database, clock);
  const { kysely } = database;
  const added = { number: 999, name: 'added in the future', applied_at: '2030-01-01T00:00:00.000Z' };
  for (const group of ['catalog', 'access'] as const) {
    await kysely.insertInto(`${group}.migrations`).values(added).execute();
  }
  expect(await prepareSchema(database, clock, 'serve')).toEqual([]);
  await expect(prepareSchema(database, clock)).rejects.toThrow(SchemaVersionError);

  const breaking = { value: '999' };
  await kysely.updateTable('access.settings').set(breaking).where('name', '=', 'oldest_served_catalog').execute();
  await expect(prepareSchema(database, clock, 'serve')).rejects.toThrow(SchemaVersionError);
});

async function readCursorSecret(): Promise<string> {
  const row = await database.kysely
    .selectFrom('access.settings')
    .select('value')
    .where('name', '=', 'cursor_secret')
    .executeTakeFirstOrThrow();
  return row.value;
}

/** Runs a program of test/support; SQLite waits for a lock by holding its thread, so that one process cannot race with itself. */
async function runProgram(name: string, argument: string): Promise<string> {
  const path = fileURLToPath(new URL(`../support/${name}`, import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, [path, argument]);
  return stdout;
}
