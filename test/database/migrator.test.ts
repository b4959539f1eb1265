import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { sql } from 'kysely';
import { afterEach, beforeEach, expect, inject, test } from 'vitest';
import type { OpenDatabase } from '../../src/database/database.ts';
import { SchemaVersionError } from '../../src/database/errors.ts';
import { migrate, prepareSchema, readSchemaState } from '../../src/database/migrations/migrator.ts';
import { MIGRATIONS } from '../../src/database/migrations/migrations.ts';
import { STRIDE } from '../../migrations/catalog/renumbering.ts';
import { contractMarks, solicitationMarks } from '../../src/publishing/former/tokens.ts';
import { createEmptyDatabase, type TestDatabase } from '../support/database.ts';
import { entriesOf, insertEntries } from '../support/schema/former-search.ts';
import { insertOlderSuppliers, makeOlderSchema, olderDocument } from '../support/schema/older-schema.ts';

const clock = (): number => Date.parse('2026-04-15T09:00:00.000Z');
const EVERY_MIGRATION = [...MIGRATIONS.catalog, ...MIGRATIONS.access].length;
const DEFERRED = ['catalog 6: the former search removed'];
/** The steps from catalog 3 on. */
const DUE = [
  'catalog 3: numbers in the order of ids',
  'catalog 4: tables of the bitmap index',
  'catalog 5: the index filled',
];

let made: TestDatabase;
let database: OpenDatabase;

beforeEach(async () => {
  made = await createEmptyDatabase();
  ({ database } = made);
});

afterEach(() => made.drop());

test('an empty database is migrated once, and then left unchanged', async () => {
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
  const pending = EVERY_MIGRATION - (older === null ? 0 : older.catalog + older.access + DEFERRED.length);
  // SQLite waits for a lock by blocking its thread, so one process cannot race with itself.
  const program = fileURLToPath(new URL('../support/process/migrate-process.ts', import.meta.url));
  const migrating = async (): Promise<string[]> => {
    const { stdout } = await promisify(execFile)(process.execPath, [program, JSON.stringify(made.config)]);
    return JSON.parse(stdout) as string[];
  };
  const ran = (await Promise.all(Array.from({ length: 4 }, migrating))).flat();
  expect(ran).toHaveLength(pending);
  expect(await readSchemaState(database)).toEqual({ isEmpty: false, pending: [] });
});

test('the first command prepares an empty database', async () => {
  expect(await prepareSchema(database, clock)).toHaveLength(EVERY_MIGRATION);
  expect(await prepareSchema(database, clock)).toEqual([]);
});

test('a key rotated before lifetimes were stored gets its lifetime from the audit trail', async () => {
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

test('a first migration interrupted between its two groups is completed by the next command', async () => {
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

test('an older SQLite file is migrated automatically, an older PostgreSQL schema only by pds migrate', async () => {
  await makeOlderSchema(database, { catalog: 2, access: MIGRATIONS.access.length });
  if (inject('engine') === 'postgres') {
    await expect(prepareSchema(database, clock)).rejects.toThrow(/run "pds migrate"/);
    expect(await migrate(database, clock)).toEqual(DUE);
  } else {
    expect(await prepareSchema(database, clock)).toEqual(DUE);
  }
  expect(await readSchemaState(database)).toEqual({ isEmpty: false, pending: [] });
});

test('records of an older schema get numbers in id order, and are found by the same words', async () => {
  await makeOlderSchema(database, { catalog: 2, access: MIGRATIONS.access.length });
  const ids = ['m', 'b', 'z', 'a', 'x'];
  await insertOlderSuppliers(database, ids);
  const words = ids.map((id) => `shared =share only${id}`);
  await insertEntries(database, 'suppliers', Object.fromEntries(words.map((text, index) => [index + 1, text])));
  await migrate(database, clock);
  const rows = await database.kysely
    .selectFrom('catalog.suppliers')
    .select(['id', 'number', 'document', 'line_hash'])
    .orderBy('number')
    .execute();
  expect(rows).toEqual(
    ids.toSorted().map((id, index) => ({
      id,
      document: olderDocument(id),
      number: (index + 1) * STRIDE,
      line_hash: '',
    })),
  );
  const prefixes = inject('engine') === 'sqlite' ? ['+o', '+onl', '+s', '+sha'] : [];
  expect(await entriesOf(database, 'suppliers')).toEqual(
    Object.fromEntries(ids.map((id) => [id, [...prefixes, '=share', `only${id}`, 'shared'].sort()])),
  );
});

test('search entries of an older schema get the filter terms that an import creates, and totals are counted', async () => {
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
  await insertEntries(database, 'solicitations', { 1: 'word =stem', 2: 'word =stem', 3: 'word =stem' });
  await insertEntries(database, 'contracts', { 1: 'word =stem', 2: 'word =stem' });
  await migrate(database, clock);
  const words = ['word', '=stem', ...(inject('engine') === 'sqlite' ? ['+w', '+wor'] : [])];
  expect(await entriesOf(database, 'solicitations')).toEqual({
    open: [...words, ...solicitationMarks({ status: 'open', lead_entity_id: owner, close_at: closeAt })].sort(),
    closed: [...words, ...solicitationMarks({ status: 'closed', lead_entity_id: owner, close_at: null })].sort(),
  });
  const totals = await database.kysely.selectFrom('catalog.solicitation_totals').selectAll().execute();
  expect(totals.map((row) => Object.values(row).join(' ')).sort()).toEqual(
    ['', owner].flatMap((of) => [`${of} closed  1`, `${of} open 2026-02 1`]).sort(),
  );
  expect(await entriesOf(database, 'contracts')).toEqual({
    c0: [...words, ...contractMarks({ lead_entity_id: owner, coop_id: null })].sort(),
    c1: [...words, ...contractMarks({ lead_entity_id: owner, coop_id: 'coop-A' })].sort(),
  });
});

test('a schema from a newer version is refused, with what to do', async () => {
  await migrate(database, clock);
  await database.kysely
    .insertInto('catalog.migrations')
    .values({ number: 999, name: 'from the future', applied_at: '2030-01-01T00:00:00.000Z' })
    .execute();
  await expect(prepareSchema(database, clock)).rejects.toThrow(SchemaVersionError);
  await expect(migrate(database, clock)).rejects.toThrow(/999.*start the version that migrated it, or a newer one/);
});

test('a schema that a newer version only added to can be served, but not written to by commands', async () => {
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
