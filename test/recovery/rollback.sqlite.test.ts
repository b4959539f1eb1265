import { existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { beforeEach, expect, test } from 'vitest';
import { changeCatalog } from '../../src/database/catalog-change.ts';
import type { OpenDatabase } from '../../src/database/database.ts';
import { findLastRelease } from '../../src/database/event-log.ts';
import { migrate, readSchemaState } from '../../src/database/migrations/migrator.ts';
import { openForCommands, openForServing } from '../../src/database/open.ts';
import { tryImportLock } from '../../src/database/sqlite/catalog-files.ts';
import { openDraft } from '../../src/database/sqlite/sqlite.ts';
import { recover, reindex } from '../../src/recovery/recover.ts';
import { listKeptReleases, rollback, type Rollback } from '../../src/recovery/rollback.ts';
import { callPds } from '../commands/call-pds.ts';
import { runPdsSignalled } from '../commands/run-pds.ts';
import { dataOf, nextCursorOf } from '../support/client.ts';
import { databaseForEachTest, databasePathOf } from '../support/database.ts';
import { contract, publishLines, SMALL_CATALOG } from '../support/publishing.ts';
import { becomeLaterVersion } from '../support/schema/later-version.ts';
import { startService } from '../support/service.ts';
import { overwritePage } from '../support/sqlite-files.ts';
import { lockImports } from '../support/stored-catalog.ts';

const clock = Date.now;

let database: OpenDatabase;
const made = databaseForEachTest();
beforeEach(() => {
  ({ database } = made);
});

const publishName = (name: string, opened = database) => publishLines(opened, { coops: [{ id: 'co_x', name }] });

async function nameIn({ kysely }: OpenDatabase): Promise<string | undefined> {
  return (await kysely.selectFrom('catalog.coops').select('name').executeTakeFirst())?.name;
}

/** The catalogs beside the database. */
function files(): string[] {
  return readdirSync(dirname(databasePathOf(made))).filter((name) => /^pds\.catalog-.*\.sqlite$/.test(name));
}

const keeping = (keepReleases: number, opened = database): OpenDatabase => ({
  ...opened,
  operator: { name: 'alice@desk', auditRetentionDays: 30, keepReleases },
});

test('an import leaves the last two catalogs, and one without a change none', async () => {
  await publishName('A');
  const [first] = files();
  expect(files()).toHaveLength(1);
  await publishName('A');
  expect(files()).toEqual([first]);
  await publishName('B');
  await publishLines(database, { coops: [{ id: 'co_x', name: 'C' }] }, { dryRun: true });
  expect(files()).toHaveLength(2);
  await publishName('C');
  expect(files()).toHaveLength(2);
  expect(files()).not.toContain(first);
});

test('a rollback goes back to the release before, servers follow, and it can be undone', async () => {
  for (const name of ['A', 'B', 'C']) await publishName(name);
  await using serving = openForServing(made.config);
  expect(await rollback(database, { clock })).toMatchObject({ from: 3, to: 2 });
  expect([await nameIn(database), await nameIn(serving)]).toEqual(['B', 'B']);
  await expect(rollback(database, { clock })).rejects.toThrow(/catalog of release 1 was deleted/);
  await expect(rollback(database, { clock, release: 2 })).rejects.toThrow(/is the current one/);
  await expect(rollback(database, { clock, release: 99 })).rejects.toThrow(/no release 99 in the log/);
  expect(await rollback(database, { clock, release: 3 })).toMatchObject({ from: 4, to: 3 });
  expect([await nameIn(database), await nameIn(serving)]).toEqual(['C', 'C']);
  await rollback(database, { clock });
  await publishName('D');
  expect(await nameIn(serving)).toBe('D');
  expect((await listKeptReleases(database, 100)).map(({ release, what }) => `${release} ${what}`)).toEqual([
    '7 release',
    '6 reset',
    '5 reset',
    '4 reset',
    '3 release',
    '2 release',
    '1 release',
  ]);
});

test('two rollbacks go two releases back, if their catalogs are kept', async () => {
  for (const name of ['A', 'B', 'C']) await publishName(name, keeping(5));
  await rollback(keeping(5), { clock });
  await rollback(keeping(5), { clock });
  expect(await nameIn(database)).toBe('A');
  await expect(rollback(keeping(5), { clock })).rejects.toThrow(/release 5 was made from no other: "pds releases"/);
});

test('the catalog that a rollback leaves stays until the next import, even if only one is kept', async () => {
  await publishName('A', keeping(5));
  await publishName('B', keeping(5));
  const one = keeping(1);
  await rollback(one, { clock, release: 1 });
  expect(await nameIn(database)).toBe('A');
  await rollback(one, { clock, release: 2 });
  expect(await nameIn(database)).toBe('B');
  await publishName('C', one);
  expect(files()).toHaveLength(1);
});

test('a recovery and a reindex keep the records, and what a rollback goes back to', async () => {
  await publishName('A', keeping(5));
  await publishName('B', keeping(5));
  await recover(keeping(5), { clock });
  await reindex(keeping(5), { clock });
  expect(await nameIn(database)).toBe('B');
  await rollback(keeping(5), { clock, release: 1 });
  expect(await nameIn(database)).toBe('A');
});

test('no import can begin until a reset is committed', async () => {
  const path = databasePathOf(made);
  await publishName('A');
  const complete = async () => {
    await setImmediate();
    expect(tryImportLock(path)).toBeNull();
  };
  await changeCatalog(database, { clock }, async () => ({ result: null, event: { what: 'reset', complete } }));
  tryImportLock(path)?.[Symbol.dispose]();
});

test('a rollback that waited for an import which changed nothing goes back', async () => {
  await publishName('A');
  await publishName('B');
  const other = openForCommands(made.config);
  const release = await lockImports(other);
  const waiting = Promise.withResolvers<null>();
  const rolledBack = rollback(database, { clock, onWaiting: () => waiting.resolve(null) });
  await waiting.promise;
  await release();
  expect(await rolledBack).toMatchObject({ from: 2, to: 1 });
  await other.close();
});

test('a rollback that waited for a release does not go back to the one that it was to undo, unless it is named', async () => {
  for (const name of ['A', 'B']) await publishName(name, keeping(5));
  const opened = openForCommands(made.config);
  const other = keeping(5, opened);
  /** Publishes while a rollback to this release waits for it. */
  const publishBefore = async (name: string, release?: number) => {
    const waiting = Promise.withResolvers<null>();
    let rolledBack: Promise<Rollback> | undefined;
    await changeCatalog(other, { clock }, async ({ kysely }) => {
      await kysely.updateTable('catalog.coops').set({ name }).execute();
      const options = release === undefined ? {} : { release };
      rolledBack = rollback(keeping(5), { clock, ...options, onWaiting: () => waiting.resolve(null) });
      rolledBack.catch(() => undefined);
      await waiting.promise;
      return { result: null, event: { what: 'release', complete: async () => undefined } };
    });
    return rolledBack;
  };
  await expect(publishBefore('C')).rejects.toThrow(/release 3 was published while this waited/);
  expect(await nameIn(database)).toBe('C');
  expect(await publishBefore('D', 1)).toMatchObject({ from: 4, to: 1 });
  expect(await nameIn(database)).toBe('A');
  await opened.close();
});

test.each(['is missing', 'is no database', 'has a damaged list of releases'])(
  'if the current catalog %s, releases are listed, and a rollback goes back from it',
  async (damage) => {
    await publishName('A');
    await publishName('B');
    const file = join(dirname(databasePathOf(made)), (await findLastRelease(database))?.file ?? '');
    await database.close();
    if (damage === 'is missing') rmSync(file);
    else if (damage === 'is no database') writeFileSync(file, 'no database any more');
    else overwritePage(file, 'releases');
    expect((await callPds(['releases'], made.settings)).stdout).toMatch(/^1 .*kept$/m);
    const { code, stderr } = await callPds(['rollback', '--yes'], made.settings);
    expect(code, stderr).toBe(0);
    await using opened = openForCommands(made.config);
    expect(await nameIn(opened)).toBe('A');
    await publishName('C', opened);
  },
);

test('a rollback to a catalog of the version before upgrades a copy, and the next one goes further back', async () => {
  for (const name of ['A', 'B']) await publishName(name, keeping(9));
  using later = new DisposableStack();
  later.use(becomeLaterVersion());
  await migrate(keeping(9), clock, { beforeUpgrade: async () => undefined });
  await publishName('C', keeping(9));
  expect(await rollback(keeping(9), { clock, release: 2 })).toMatchObject({ from: 4, to: 2 });
  expect(await nameIn(database)).toBe('B');
  expect(await readSchemaState(database)).toEqual({ isEmpty: false, pending: [] });
  expect(await rollback(keeping(9), { clock })).toMatchObject({ from: 5, to: 1 });
  expect(await nameIn(database)).toBe('A');
});

test.each([
  ['before its commit changes nothing', { statement: 'commit' }, 'B'],
  ['after its commit is complete', { after: 'commit', statement: '' }, 'A'],
])('a rollback that is killed %s, and it can be run again', async (_, moment, name) => {
  await publishName('A');
  await publishName('B');
  await using serving = openForServing(made.config);
  const words = ['rollback', '1', '--yes'];
  const killed = await runPdsSignalled(words, made.settings, { signal: 'SIGKILL', ...moment });
  expect(killed.code).toBeNull();
  expect([await nameIn(serving), await nameIn(database)]).toEqual([name, name]);
  const { stderr } = await callPds(words, made.settings);
  expect(stderr).toMatch(name === 'B' ? /Rolled back from release 2 to 1/ : /release 1 is the current one/);
  expect(await nameIn(serving)).toBe('A');
});

test.each(['work', 'commit'] as const)(
  'an import that fails before its %s leaves no file and no event',
  async (step) => {
    await publishName('A');
    const before = [files(), await findLastRelease(database)];
    const failing = changeCatalog(
      database,
      {
        clock,
        onCommit: () => {
          throw new Error('no more');
        },
      },
      async ({ kysely }) => {
        await kysely.updateTable('catalog.coops').set({ name: 'B' }).execute();
        expect(files()).toHaveLength(2);
        if (step === 'work') throw new Error('no more');
        return { result: null, event: { what: 'release', complete: async () => undefined } };
      },
    );
    await expect(failing).rejects.toThrow('no more');
    expect([files(), await findLastRelease(database)]).toEqual(before);
    expect(await nameIn(database)).toBe('A');
  },
);

test('a file that a killed import left is deleted by the next, and one that is missing stops the database', async () => {
  await publishName('A');
  const path = databasePathOf(made);
  const draft = openDraft(path, 2, join(dirname(path), files()[0] ?? ''));
  await draft.database.kysely.updateTable('catalog.coops').set({ name: 'lost' }).execute();
  draft.complete();
  expect(files()).toHaveLength(2);
  await publishName('A');
  expect(files()).toHaveLength(1);
  rmSync(join(dirname(path), files()[0] ?? ''));
  expect(() => openForServing(made.config)).toThrow(/pds\.catalog-1-.*, the current catalog of .*, is missing/);
  expect(existsSync(path)).toBe(true);
  expect(files()).toEqual([]);
});

const serveAll = () => startService({ catalog: SMALL_CATALOG, clock, partners: [{ name: 'all', everything: true }] });

test('a watermark from before two rollbacks, or between them, gives a complete listing, and one after them none', async () => {
  await using service = await serveAll();
  const { key } = service.partner('all');
  const watermarks: string[] = [];
  const note = async () => {
    await service.noticeChanges();
    watermarks.push(String((await service.get('/v1/coops', { key })).headers['x-sync-watermark']));
  };
  const all = keeping(9, service.database);
  await note();
  await publishLines(all, { contracts: [contract('ctr_new')] });
  await note();
  await publishLines(all, { contracts: SMALL_CATALOG.contracts.slice(1) }, { replace: true, allowRemovals: true });
  await note();
  await rollback(all, { clock });
  await note();
  await rollback(all, { clock });
  await publishLines(all, { contracts: [contract('ctr_late')] });
  await note();
  const last = watermarks.pop();
  const full = await service.get('/v1/changes', { key });
  for (const since of watermarks) {
    const listed = await service.get(`/v1/changes?updated_since=${since}`, { key });
    expect(dataOf(listed), since).toEqual(dataOf(full));
    expect(JSON.parse(listed.body)).toMatchObject({ meta: { reset: true } });
  }
  const news = await service.get(`/v1/changes?updated_since=${last}`, { key });
  expect([dataOf(news), JSON.parse(news.body)]).toMatchObject([[], { meta: { reset: false } }]);
  const ids = dataOf(await service.get('/v1/contracts', { key })).map(({ id }) => id);
  expect(ids).toEqual([...SMALL_CATALOG.contracts.map(({ id }) => id), 'ctr_late'].sort());
});

test('partners read everything again after a rollback, and a listing begun before it ends in one state', async () => {
  await using service = await serveAll();
  const { key } = service.partner('all');
  const renamed = SMALL_CATALOG.contracts.map((record) => ({ ...record, name: `${record.name}, renamed` }));
  await publishLines(service.database, { contracts: renamed });
  const first = await service.get('/v1/contracts?limit=1', { key });
  const watermark = String(first.headers['x-sync-watermark']);
  await rollback(service.database, { clock });
  const rest = await service.get(`/v1/contracts?limit=1&cursor=${nextCursorOf(first)}`, { key });
  expect(rest.headers['x-sync-watermark']).toBe(watermark);
  const since = await service.get(`/v1/contracts?updated_since=${watermark}`, { key });
  expect(dataOf(since).map(({ name }) => name)).toEqual(SMALL_CATALOG.contracts.map(({ name }) => name));
  expect(String(since.headers['x-sync-watermark']) > watermark).toBe(true);
});

test('pds rollback and pds releases report what they did, and ask for --yes without a terminal', async () => {
  await publishName('A');
  await publishName('B');
  expect((await callPds(['rollback'], made.settings)).code).not.toBe(0);
  expect(await nameIn(database)).toBe('B');
  const { code, stderr } = await callPds(['rollback', '--yes'], made.settings);
  expect(code, stderr).toBe(0);
  expect(stderr).toContain('Rolled back from release 2 to 1');
  const { stdout } = await callPds(['releases'], made.settings);
  expect(stdout).toMatch(/^3 .*reset +current$/m);
  expect(stdout).toMatch(/^2 .*release +1 +kept$/m);
});

test('a preview deletes no kept catalog, whatever number of them its settings say', async () => {
  for (const name of ['A', 'B', 'C']) await publishName(name, keeping(5));
  const before = files();
  expect(before).toHaveLength(3);
  await publishLines(keeping(1), { coops: [{ id: 'co_x', name: 'D' }] }, { dryRun: true });
  expect(files()).toEqual(before);
});
