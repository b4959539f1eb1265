import { afterEach, beforeEach, expect, test } from 'vitest';
import type { OpenDatabase } from '../../src/database/database.ts';
import { openForCommands } from '../../src/database/open.ts';
import type { OnProgress } from '../../src/progress.ts';
import { migrate, prepareSchema, readDeferred, readSchemaState } from '../../src/database/migrations/migrator.ts';
import { MIGRATIONS } from '../../src/database/migrations/migrations.ts';
import { lockCatalog } from '../../src/database/catalog-lock.ts';
import { databaseUrlOf, runPds } from '../commands/run-pds.ts';
import { createEmptyDatabase, type TestDatabase } from '../support/database.ts';
import { entriesOf, insertEntries } from '../support/schema/former-search.ts';
import { leftBehindIn, runPdsInTerminal } from '../support/process/in-terminal.ts';
import { testWith } from '../support/installed-programs.ts';
import { insertOlderPublication, insertOlderSuppliers, makeOlderSchema } from '../support/schema/older-schema.ts';

const clock = (): number => Date.parse('2026-04-15T09:00:00.000Z');
const EVERY_MIGRATION = [...MIGRATIONS.catalog, ...MIGRATIONS.access].length;
const DUE = ['catalog 4: tables of the bitmap index', 'catalog 5: the index filled'];
const DEFERRED = ['catalog 6: the former search removed'];

let made: TestDatabase;
let database: OpenDatabase;

beforeEach(async () => {
  made = await createEmptyDatabase();
  ({ database } = made);
});

afterEach(() => made.drop());

test('deferred migrations run on an empty database, and otherwise only with finish', async () => {
  await makeOlderSchema(database, { catalog: 3, access: MIGRATIONS.access.length });
  await migrate(database, clock);
  expect(await readSchemaState(database)).toEqual({ isEmpty: false, pending: [] });
  expect(await readDeferred(database)).toEqual(DEFERRED);
  expect(await oldestServed()).toBe('3');
  expect(await migrate(database, clock)).toEqual([]);
  expect(await prepareSchema(database, clock)).toEqual([]);

  expect(await migrate(database, clock, { finish: true })).toEqual(DEFERRED);
  expect(await readDeferred(database)).toEqual([]);
  expect(await oldestServed()).toBe('6');
  await expect(entriesOf(database, 'suppliers')).rejects.toThrow(/suppliers_search/);
  expect(await migrate(database, clock, { finish: true })).toEqual([]);

  await using stack = new AsyncDisposableStack();
  const empty = await createEmptyDatabase();
  stack.defer(() => empty.drop());
  expect(await migrate(empty.database, clock)).toHaveLength(EVERY_MIGRATION);
  expect(await readDeferred(empty.database)).toEqual([]);
});

test('pds migrate reports deferred migrations, and --finish runs them', async () => {
  await makeOlderSchema(database, { catalog: 3, access: MIGRATIONS.access.length });
  const settings = { PDS_DATABASE_URL: databaseUrlOf(made.config) };
  const migrated = await runPds(['migrate'], settings);
  expect(migrated).toMatchObject({ code: 0, stdout: '' });
  expect(migrated.stderr).toContain('run "pds migrate --finish"');
  expect((await runPds(['check'], settings)).stdout).toMatch(/WARN +schema: .*catalog 6[^]*pds migrate --finish/);
  const finished = await runPds(['migrate', '--finish', '--json'], settings);
  expect(JSON.parse(finished.stdout)).toEqual({ migrations: DEFERRED, deferred: [] });
  expect((await runPds(['check'], settings)).stdout).not.toContain('catalog 6');
});

test('an interrupted step leaves earlier ones complete, and the next run resumes with it', async () => {
  await makeOlderSchema(database, { catalog: 3, access: MIGRATIONS.access.length });
  await insertOlderPublication(database);
  const steps: string[] = [];
  const interrupt: OnProgress = ({ what }) => {
    steps.push(what);
    throw new Error('interrupted');
  };
  await expect(migrate(database, clock, { onProgress: interrupt })).rejects.toThrow('interrupted');
  expect(steps).toEqual(['Reading the words of suppliers']);
  expect(await readSchemaState(database)).toEqual({ isEmpty: false, pending: ['catalog 5: the index filled'] });
  expect(await migrate(database, clock)).toEqual(['catalog 5: the index filled']);
});

testWith('python')(
  'pds migrate shows the progress of a long step on a terminal, and restores the terminal (needs python3)',
  async () => {
    await makeOlderSchema(database, { catalog: 3, access: MIGRATIONS.access.length });
    await insertOlderPublication(database);
    const settings = { PDS_DATABASE_URL: databaseUrlOf(made.config) };
    const ignored = { text: 'Reading the words of suppliers', typed: 'a line that nothing reads' };
    const { code, output } = await runPdsInTerminal(['migrate'], settings, ignored);
    expect(code, output).toBe(0);
    expect(output).toContain('Reading the words of suppliers');
    expect(output).toContain('Ran catalog 4');
    expect(leftBehindIn(output)).toEqual([]);
  },
);

test('the words that suppliers are searched by are stored with them', async () => {
  await makeOlderSchema(database, { catalog: 3, access: MIGRATIONS.access.length });
  await insertOlderPublication(database);
  await insertOlderSuppliers(database, ['a', 'b', 'c']);
  await insertEntries(database, 'suppliers', {
    1: '7 bridges =bridg +b +bri straße ünder',
    2: '+r +roa roads zoo 123',
  });
  await migrate(database, clock);
  const rows = await database.kysely.selectFrom('catalog.suppliers').select(['id', 'searched']).orderBy('id').execute();
  expect(rows.map(({ id, searched }) => [id, searched.split(' ').sort().join(' ')])).toEqual([
    ['a', '7 bridges straße ünder'],
    ['b', '123 roads zoo'],
    ['c', ''],
  ]);
});

test('the last release gets a token, and an import without tokens cannot publish', async () => {
  await makeOlderSchema(database, { catalog: 3, access: MIGRATIONS.access.length });
  const { kysely } = database;
  await insertOlderPublication(database, 1);
  await insertOlderPublication(database, 2);
  await migrate(database, clock);
  const rows = await kysely.selectFrom('catalog.publications').select('token').orderBy('number').execute();
  expect(rows).toEqual([{ token: '' }, { token: expect.stringMatching(/^[-0-9a-f]{36}$/) as string }]);
  await expect(insertOlderPublication(database, 3)).rejects.toThrow(/token/);
});

test('a migration waits for a running import', async () => {
  await makeOlderSchema(database, { catalog: 3, access: MIGRATIONS.access.length });
  await using stack = new AsyncDisposableStack();
  const other = openForCommands(made.config);
  stack.defer(() => other.close());
  const transaction = await other.kysely.startTransaction().execute();
  await lockCatalog({ ...other, kysely: transaction }, {});
  let waited = 0;
  let ended = Promise.resolve<unknown>(null);
  const onWaiting = (): void => {
    waited += 1;
    ended = transaction.commit().execute();
  };
  expect(await migrate(database, clock, { onWaiting })).toEqual(DUE);
  await ended;
  expect(waited).toBe(1);
});

async function oldestServed(): Promise<string> {
  const { value } = await database.kysely
    .selectFrom('access.settings')
    .select('value')
    .where('name', '=', 'oldest_served_catalog')
    .executeTakeFirstOrThrow();
  return value;
}
