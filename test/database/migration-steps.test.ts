import { sql } from 'kysely';
import { afterEach, beforeEach, expect, inject, test } from 'vitest';
import type { OpenDatabase } from '../../src/database/database.ts';
import { openForCommands } from '../../src/database/open.ts';
import { migrate, prepareSchema, readSchemaState } from '../../src/database/migrations/migrator.ts';
import { lockCatalog } from '../../src/database/catalog-lock.ts';
import { INDEXED_KINDS } from '../../src/kinds.ts';
import { callPds } from '../commands/call-pds.ts';
import { databaseUrlOf, runPdsOf } from '../commands/run-pds.ts';
import { createEmptyDatabase, type TestDatabase } from '../support/database.ts';
import { testWith } from '../support/installed-programs.ts';
import { leftBehindIn, runPdsInTerminal } from '../support/process/in-terminal.ts';
import { publishLines, SMALL_CATALOG } from '../support/publishing.ts';
import { expectWholeIndex } from '../support/schema/index-rows.ts';
import { FINISHED, importBefore, makeOlderSchema, UNFINISHED, versionBefore } from '../support/schema/older-schema.ts';
import { readSchemaTexts } from '../support/schema/schema-texts.ts';

const clock = (): number => Date.parse('2026-04-15T09:00:00.000Z');
const UPGRADE = [
  'catalog 8: positions as primary keys, feed of changes',
  'access 8: when partners saw fewer records, last revisions',
];

let made: TestDatabase;
let database: OpenDatabase;

beforeEach(async () => {
  made = await createEmptyDatabase();
  ({ database } = made);
});

afterEach(() => made.drop());

test.each([
  ['unfinished', UNFINISHED, '3'],
  ['finished', FINISHED, '6'],
])(
  'a database that version 1.2 left %s ends with the schema of a new one, and with its records',
  async (_, steps, oldest) => {
    await makeOlderSchema(database, steps);
    await database.kysely
      .insertInto('access.settings')
      .values({ name: 'oldest_served_catalog', value: oldest })
      .execute();
    await importBefore(databaseUrlOf(made.config), SMALL_CATALOG);
    const records = await readRecords();
    expect(await migrate(database, clock)).toEqual(UPGRADE);
    expect(await readSchemaState(database)).toEqual({ isEmpty: false, pending: [] });
    // Servers of version 1.2 know six migrations of the catalog.
    expect(await oldestServed()).toBe('6');
    expect(await readRecords()).toEqual(records);
    for (const kind of INDEXED_KINDS) await expectWholeIndex(database, kind);

    const fresh = await createEmptyDatabase();
    try {
      await migrate(fresh.database, clock);
      expect(await readSchemaTexts(database)).toEqual(await readSchemaTexts(fresh.database));
    } finally {
      await fresh.drop();
    }
    // The records are unchanged for an import of this version.
    expect((await publishLines(database, SMALL_CATALOG)).timestamp).toBeNull();
    // A changed line separates the two texts, which version 1.2 stored as one.
    const [first, ...others] = SMALL_CATALOG.suppliers;
    const texts = { short_intro: 'Roads', about: 'Bridges' };
    await publishLines(database, { ...SMALL_CATALOG, suppliers: [{ ...first, ...texts }, ...others] });
    const { rows } = await sql`select short_intro, about from catalog.suppliers where id = 'sup_1'`.execute(
      database.kysely,
    );
    expect(rows).toEqual([texts]);
    await expectWholeIndex(database, 'suppliers');
  },
);

test.each([
  ['4', { catalog: 4, access: 7 }],
  ['3', { catalog: 3, access: 6 }],
])('a database older than version 1.2, with the catalog at %s, is refused with what to do', async (_, steps) => {
  await makeOlderSchema(database, steps);
  await expect(migrate(database, clock)).rejects.toThrow(
    /older than version 1\.2: run "pds migrate" with version 1\.2/,
  );
  await expect(prepareSchema(database, clock)).rejects.toThrow(/older than version 1\.2/);
});

test('records that share a position are refused until version 1.2 has placed them again', async () => {
  await makeOlderSchema(database, FINISHED);
  const url = databaseUrlOf(made.config);
  await importBefore(url, SMALL_CATALOG);
  await sql`update catalog.contracts set position = 0`.execute(database.kysely);
  await expect(migrate(database, clock)).rejects.toThrow(/Run "pds reindex" with version 1\.2/);
  expect((await readSchemaState(database)).pending).toEqual(UPGRADE);
  expect(await runPdsOf(versionBefore(), ['reindex'], { PDS_DATABASE_URL: url })).toMatchObject({ code: 0 });
  expect(await migrate(database, clock)).toEqual(UPGRADE);
  for (const kind of INDEXED_KINDS) await expectWholeIndex(database, kind);
});

test('no two records can have the same position', async () => {
  await migrate(database, clock);
  await publishLines(database, SMALL_CATALOG);
  await expect(sql`update catalog.contracts set position = 0`.execute(database.kysely)).rejects.toThrow(
    inject('engine') === 'sqlite' ? /UNIQUE constraint failed/ : /duplicate key/,
  );
});

test('an import of version 1.2 that began before the migration cannot publish', async () => {
  await makeOlderSchema(database, FINISHED);
  const url = databaseUrlOf(made.config);
  await importBefore(url, SMALL_CATALOG);
  await migrate(database, clock);
  await expect(importBefore(url, { suppliers: SMALL_CATALOG.suppliers })).rejects.toThrow(/supports only 6/);
  await expect(sql`select number from catalog.suppliers`.execute(database.kysely)).rejects.toThrow(/number/);
});

testWith('python')(
  'pds migrate shows its progress on a terminal, and restores the terminal (needs python3)',
  async () => {
    await makeOlderSchema(database, UNFINISHED);
    const settings = { PDS_DATABASE_URL: databaseUrlOf(made.config) };
    const ignored = { text: 'Upgrading the tables', typed: 'a line that nothing reads' };
    const { code, output } = await runPdsInTerminal(['migrate'], settings, ignored);
    expect(code, output).toBe(0);
    expect(output).toContain('Upgrading the tables');
    expect(output).toContain(`Ran ${UPGRADE.join(', ')}`);
    expect(leftBehindIn(output)).toEqual([]);
  },
);

test('a migration waits for a running import', async () => {
  await makeOlderSchema(database, UNFINISHED);
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
  expect(await migrate(database, clock, { onWaiting })).toEqual(UPGRADE);
  await ended;
  expect(waited).toBe(1);
});

test('pds check finds nothing wrong with an upgraded database', async () => {
  await makeOlderSchema(database, UNFINISHED);
  const url = databaseUrlOf(made.config);
  await importBefore(url, SMALL_CATALOG);
  await migrate(database, clock);
  const { stdout } = await callPds(['check', '--json', '--index'], { PDS_DATABASE_URL: url });
  expect(stdout).not.toContain('"fail"');
});

async function oldestServed(): Promise<string> {
  const { value } = await database.kysely
    .selectFrom('access.settings')
    .select('value')
    .where('name', '=', 'oldest_served_catalog')
    .executeTakeFirstOrThrow();
  return value;
}

async function readRecords(): Promise<unknown[]> {
  const records = [];
  for (const kind of INDEXED_KINDS) {
    const { rows } = await sql`select id, position, document, line_hash, changed_publication
      from ${sql.table(`catalog.${kind}`)} order by id`.execute(database.kysely);
    records.push(rows);
  }
  const { rows } = await sql`select abbreviation, name, type, document from catalog.certifications
    order by abbreviation`.execute(database.kysely);
  return [...records, rows, await database.kysely.selectFrom('catalog.publications').selectAll().execute()];
}
