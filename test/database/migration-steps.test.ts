import { DatabaseSync } from 'node:sqlite';
import { sql } from 'kysely';
import { afterEach, beforeEach, expect, inject, test } from 'vitest';
import type { OpenDatabase } from '../../src/database/database.ts';
import { openForCommands } from '../../src/database/open.ts';
import { migrate, prepareSchema, readSchemaState } from '../../src/database/migrations/migrator.ts';
import { hasTimelineChanged } from '../../src/database/postgres/timeline.ts';
import { readFeedState } from '../../src/paging/changes.ts';
import { addMilliseconds, EPOCH } from '../../src/timestamp.ts';
import { INDEXED_KINDS } from '../../src/kinds.ts';
import { numberOfRuns } from '../support/runs.ts';
import { callPds } from '../commands/call-pds.ts';
import { databaseUrlOf } from '../commands/run-pds.ts';
import { takeSnapshot } from '../support/snapshots.ts';
import { createEmptyDatabase, createTestDatabase, type TestDatabase } from '../support/database.ts';
import { testWith } from '../support/installed-programs.ts';
import { leftBehindIn, runPdsInTerminal } from '../support/process/in-terminal.ts';
import { publishLines, SMALL_CATALOG } from '../support/publishing.ts';
import { expectWholeIndex } from '../support/schema/index-rows.ts';
import { becomeLaterVersion, LATER_SETTINGS, SOURCE_MAIN, UPGRADE } from '../support/schema/later-version.ts';
import { changeStored, lockImports } from '../support/stored-catalog.ts';
import { readSchemaTexts } from '../support/schema/schema-texts.ts';
import { importBefore, runBefore } from '../support/schema/version-before.ts';

const clock = (): number => Date.parse('2026-04-15T09:00:00.000Z');

let made: TestDatabase;
let database: OpenDatabase;

beforeEach(async () => {
  made = await createTestDatabase();
  ({ database } = made);
});

afterEach(() => made.drop());

test.each(['grant', 'release', ''].slice(0, numberOfRuns({ usually: 1, nightly: 3 })))(
  'a database of version 1.3 gets the schema of a new one, and a log by which watermarks hold (complete before: %j)',
  async (completeBefore) => {
    await using former = await createEmptyDatabase();
    const url = databaseUrlOf(former.config);
    await former.database.close();
    await importBefore(url, SMALL_CATALOG);
    await runBefore(url, 'partner', 'create', 'all', '--everything');
    await runBefore(url, 'partner', 'create', 'some');
    await runBefore(url, 'partner', 'grant', 'some', '--lead-entity', 'le_a', '--coop', 'co_x');
    await importBefore(url, { ...SMALL_CATALOG, contracts: SMALL_CATALOG.contracts.slice(1) });
    await runBefore(url, 'partner', 'revoke', 'some', '--coop', 'co_x');
    await runBefore(url, 'partner', 'grant', 'some', '--lead-entity', 'le_b');
    await importBefore(url, SMALL_CATALOG);
    const stored = openForCommands(former.config);
    const { kysely } = stored;
    const { rows: releases } = await sql<Release>`select number, instant from catalog.publications`.execute(kysely);
    const { rows: changes } = await sql<Change>`
      select id, name, narrowed_at, narrowed_by, instant from access.partners
      inner join access.grant_changes on id = partner_id order by instant`.execute(kysely);
    const cut =
      { '': EPOCH, release: releases[1]?.instant, grant: changes[2]?.instant }[completeBefore] ?? expect.fail();
    if (former.config.engine === 'sqlite') {
      // This version does not write to that one's files.
      using catalog = new DatabaseSync(former.config.path);
      catalog.prepare('update feed set complete_before = ?').run(cut);
    } else await sql`update catalog.feed set complete_before = ${cut}`.execute(kysely);
    await stored.close();
    const database = openForCommands(former.config);
    try {
      expect(await migrate(database, clock)).toEqual(['access 9: log of events', 'catalog 9: releases without tokens']);
      expect(await readSchemaState(database)).toEqual({ isEmpty: false, pending: [] });
      expect(await readSchemaTexts(database)).toEqual(await readSchemaTexts(made.database));
      expect(await hasTimelineChanged(database)).toBe(false);
      for (const { id, narrowed_at: narrowedAt } of changes) {
        const own = changes.filter((change) => change.id === id).map(({ instant }) => instant);
        for (const at of [...releases, ...changes].map(({ instant }) => instant)) {
          const since = addMilliseconds(at, 1);
          // An event of all partners is at this timestamp now, since the log must begin with one.
          if (at === cut) continue;
          const isKnown = own.includes(at) || releases.some(({ instant }) => instant === at);
          const isComplete = !isKnown || since <= cut || since <= narrowedAt;
          const listing = { updatedSince: since, watermark: null, isComplete: null };
          const { complete, since: read } = await readFeedState(await takeSnapshot(database, id), listing);
          expect(complete !== null, `${id} since ${since}`).toBe(isComplete);
          const first = releases.find(({ instant }) => instant >= since)?.number ?? releases.length + 1;
          if (read !== null) expect(read.release).toBe(first);
        }
      }
      // The records are unchanged for an import of this version.
      expect((await publishLines(database, SMALL_CATALOG)).timestamp).toBeNull();
      const { rows: last } = await sql<{ release: number }>`select max(release) as release from access.events`.execute(
        database.kysely,
      );
      expect(last[0]?.release).toBe(releases.length);
      const { timestamp } = await publishLines(database, { coops: [{ id: 'co_z', name: 'Z' }] });
      expect((timestamp ?? '') > (changes.at(-1)?.instant ?? '')).toBe(true);
      // The import added terms that version 1.3 does not know.
      for (const kind of INDEXED_KINDS) await expectWholeIndex(database, kind);
      const { stdout } = await callPds(['check', '--json', '--full'], { PDS_DATABASE_URL: url });
      expect(stdout).toContain('"findings"');
      expect(stdout).not.toContain('"fail"');
    } finally {
      await database.close();
    }
  },
);

interface Release {
  readonly number: number;
  readonly instant: string;
}

interface Change {
  readonly id: number;
  readonly name: string;
  readonly narrowed_at: string;
  readonly narrowed_by: string;
  readonly instant: string;
}

test.each(['catalog', 'access'] as const)('a database of version 1.2 is refused by its %s', async (group) => {
  await database.kysely.updateTable(`${group}.migrations`).set({ number: 7 }).execute();
  const refusal = new RegExp(
    `${group} schema is at 7, .* older than version 1\\.3: run "pds migrate" with version 1\\.3`,
  );
  await expect(migrate(database, clock)).rejects.toThrow(refusal);
  await expect(prepareSchema(database, clock)).rejects.toThrow(refusal);
});

test('an upgrade ends with the schema of a new database, and keeps the records', async () => {
  await publishLines(database, SMALL_CATALOG);
  using later = new DisposableStack();
  later.use(becomeLaterVersion());
  expect(await migrate(database, clock)).toEqual(UPGRADE);
  await using fresh = await createEmptyDatabase();
  await migrate(fresh.database, clock);
  // SQLite appends a column to the text of a definition, so both began with the same one.
  expect(await readSchemaTexts(database)).toEqual(await readSchemaTexts(fresh.database));
  expect((await publishLines(database, SMALL_CATALOG)).timestamp).toBeNull();
});

test('no two records can have the same position', async () => {
  await publishLines(database, SMALL_CATALOG);
  const change = changeStored(database, ({ kysely }) => sql`update catalog.contracts set position = 0`.execute(kysely));
  await expect(change).rejects.toThrow(inject('engine') === 'sqlite' ? /UNIQUE constraint failed/ : /duplicate key/);
});

testWith('python')(
  'pds migrate shows its progress on a terminal, and restores the terminal (needs python3)',
  async () => {
    await publishLines(database, SMALL_CATALOG);
    const settings = { PDS_DATABASE_URL: databaseUrlOf(made.config), ...LATER_SETTINGS };
    const ignored = { text: 'Upgrading the tables', typed: 'a line that nothing reads' };
    const { code, output } = await runPdsInTerminal(['migrate'], settings, ignored, SOURCE_MAIN);
    expect(code, output).toBe(0);
    expect(output).toContain('Upgrading the tables');
    expect(output).toContain(`Ran ${UPGRADE.join(', ')}`);
    expect(leftBehindIn(output)).toEqual([]);
  },
);

test('a migration waits for a running import', async () => {
  await using stack = new AsyncDisposableStack();
  stack.use(becomeLaterVersion());
  const other = openForCommands(made.config);
  stack.defer(() => other.close());
  const release = await lockImports(other);
  let waited = 0;
  let ended = Promise.resolve<unknown>(null);
  const onWaiting = (): void => {
    waited += 1;
    ended = release();
  };
  expect(await migrate(database, clock, { onWaiting })).toEqual(UPGRADE);
  await ended;
  expect(waited).toBe(1);
});
