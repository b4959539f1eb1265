import { sql } from 'kysely';
import { expect, inject, test } from 'vitest';
import { listReleases } from '../../src/database/event-log.ts';
import { openForCommands } from '../../src/database/open.ts';
import { migrate, prepareSchema } from '../../src/database/migrations/migrator.ts';
import { createEmptyDatabase, databaseForEachTest } from '../support/database.ts';
import { testWith } from '../support/installed-programs.ts';
import { leftBehindIn, runPdsInTerminal } from '../support/process/in-terminal.ts';
import { publishLines, SMALL_CATALOG } from '../support/publishing.ts';
import { becomeLaterVersion, LATER_SETTINGS, SOURCE_MAIN, UPGRADE } from '../support/schema/later-version.ts';
import { changeStored, lockImports } from '../support/stored-catalog.ts';
import { readSchemaTexts } from '../support/schema/schema-texts.ts';

const clock = (): number => Date.parse('2026-04-15T09:00:00.000Z');

const made = databaseForEachTest();

test.each(['catalog', 'access'] as const)('a database of version 1.3 is refused by its %s', async (group) => {
  await made.database.kysely.updateTable(`${group}.migrations`).set({ number: 8 }).execute();
  const refusal = new RegExp(
    `${group} schema is at 8, which is older than version 2\\.0: run "pds migrate" with version 2\\.0 first\\. Nothing`,
  );
  await expect(migrate(made.database, clock)).rejects.toThrow(refusal);
  await expect(prepareSchema(made.database, clock, 'serve')).rejects.toThrow(refusal);
});

test('an upgrade ends with the schema of a new database, and keeps the records', async () => {
  await publishLines(made.database, SMALL_CATALOG);
  using _later = becomeLaterVersion();
  expect(await migrate(made.database, clock)).toEqual(UPGRADE);
  await using fresh = await createEmptyDatabase();
  await migrate(fresh.database, clock);
  // SQLite appends a column to the text of a definition, so both began with the same one.
  expect(await readSchemaTexts(made.database)).toEqual(await readSchemaTexts(fresh.database));
  expect((await publishLines(made.database, SMALL_CATALOG)).timestamp).toBeNull();
});

test('an upgrade of the catalog is a release that changes no record', async () => {
  await publishLines(made.database, SMALL_CATALOG);
  const { kysely } = made.database;
  const changes = () =>
    kysely.selectFrom('catalog.contracts').select(['id', 'changed_release']).orderBy('id').execute();
  const before = await changes();
  using _later = becomeLaterVersion();
  await migrate(made.database, clock);
  const releases = await listReleases(made.database, 10);
  expect(releases.map(({ release, what }) => `${release} ${what}`)).toEqual(['2 release', '1 release']);
  expect(await changes()).toEqual(before);
  expect(await migrate(made.database, clock)).toEqual([]);
  expect(await listReleases(made.database, 10)).toHaveLength(2);
});

test('an upgrade before the first import publishes nothing', async () => {
  using _later = becomeLaterVersion();
  expect(await migrate(made.database, clock)).toEqual(UPGRADE);
  expect(await listReleases(made.database, 10)).toEqual([]);
});

test('no two records can have the same position', async () => {
  await publishLines(made.database, SMALL_CATALOG);
  const change = changeStored(made.database, ({ kysely }) =>
    sql`update catalog.contracts set position = 0`.execute(kysely),
  );
  await expect(change).rejects.toThrow(inject('engine') === 'sqlite' ? /UNIQUE constraint failed/ : /duplicate key/);
});

testWith('python')(
  'pds migrate shows its progress on a terminal, and restores the terminal (needs python3)',
  async () => {
    await publishLines(made.database, SMALL_CATALOG);
    const settings = { ...made.settings, ...LATER_SETTINGS };
    const ignored = { text: 'Upgrading the tables', typed: 'a line that nothing reads' };
    const { code, output } = await runPdsInTerminal(['migrate'], settings, ignored, SOURCE_MAIN);
    expect(code, output).toBe(0);
    expect(output).toContain('Upgrading the tables');
    expect(output).toContain(`Ran ${UPGRADE.join(', ')}`);
    expect(leftBehindIn(output)).toEqual([]);
  },
);

test('a migration waits for a running import', async () => {
  using _later = becomeLaterVersion();
  await using other = openForCommands(made.config);
  const release = await lockImports(other);
  let waited = 0;
  let ended = Promise.resolve<unknown>(null);
  const onWaiting = (): void => {
    waited += 1;
    ended = release();
  };
  expect(await migrate(made.database, clock, { onWaiting })).toEqual(UPGRADE);
  await ended;
  expect(waited).toBe(1);
});
