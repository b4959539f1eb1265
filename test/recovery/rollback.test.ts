import { existsSync, readdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, inject, test } from 'vitest';
import { createPartner } from '../../src/access/partner-admin.ts';
import { issueKey, revokeKey } from '../../src/access/key-admin.ts';
import { changeCatalog } from '../../src/database/catalog-change.ts';
import type { OpenDatabase } from '../../src/database/database.ts';
import { findLastRelease } from '../../src/database/event-log.ts';
import { openForCommands, openForServing } from '../../src/database/open.ts';
import { recover, reindex } from '../../src/recovery/recover.ts';
import { listKeptReleases, rollback } from '../../src/recovery/rollback.ts';
import { callPds } from '../commands/call-pds.ts';
import { databaseUrlOf } from '../commands/run-pds.ts';
import { dataOf } from '../support/client.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { publishLines, SMALL_CATALOG } from '../support/publishing.ts';
import { startService } from '../support/service.ts';
import { lockImports } from '../support/stored-catalog.ts';

const isSqlite = inject('engine') === 'sqlite';
const clock = Date.now;

let made: TestDatabase;
let database: OpenDatabase;
beforeEach(async () => {
  made = await createTestDatabase();
  ({ database } = made);
});
afterEach(() => made.drop());

const publishName = (name: string, opened = database) => publishLines(opened, { coops: [{ id: 'co_x', name }] });

async function nameIn({ kysely }: OpenDatabase): Promise<string | undefined> {
  return (await kysely.selectFrom('catalog.coops').select('name').executeTakeFirst())?.name;
}

/** The catalogs beside the database. */
function files(): string[] {
  if (made.config.engine !== 'sqlite') return [];
  return readdirSync(dirname(made.config.path)).filter((name) => /^pds\.catalog-.*\.sqlite$/.test(name));
}

const keeping = (keepReleases: number): OpenDatabase => ({
  ...database,
  operator: { name: 'alice@desk', auditRetentionDays: 30, keepReleases },
});

test.skipIf(isSqlite)('on PostgreSQL a rollback changes nothing, and says what to do instead', async () => {
  await publishName('A');
  await publishName('B');
  await expect(rollback(database, { clock })).rejects.toThrow(/pds export.*--replace/);
  expect(await nameIn(database)).toBe('B');
});

describe.skipIf(!isSqlite)('on SQLite', () => {
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
    const serving = openForServing(made.config);
    try {
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
    } finally {
      await serving.close();
    }
  });

  test('two rollbacks go two releases back, if their catalogs are kept', async () => {
    for (const name of ['A', 'B', 'C']) await publishName(name, keeping(5));
    await rollback(keeping(5), { clock });
    await rollback(keeping(5), { clock });
    expect(await nameIn(database)).toBe('A');
    await expect(rollback(keeping(5), { clock })).rejects.toThrow(/is the first/);
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

  test('a rollback that waited for an import goes back from that one', async () => {
    await publishName('A');
    await publishName('B');
    const other = openForCommands(made.config);
    const release = await lockImports(other);
    const waiting = Promise.withResolvers<null>();
    const rolledBack = rollback(database, { clock, onWaiting: () => waiting.resolve(null) });
    await waiting.promise;
    // What an import does at its end, under the lock that the rollback waits for.
    await release();
    expect(await rolledBack).toMatchObject({ from: 2, to: 1 });
    await other.close();
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
    const { config } = made;
    if (config.engine !== 'sqlite') throw new Error('not SQLite');
    const { catalogFiles } = database;
    const draft = catalogFiles?.openDraft(2);
    await draft?.database.kysely.updateTable('catalog.coops').set({ name: 'lost' }).execute();
    draft?.complete();
    expect(files()).toHaveLength(2);
    await publishName('A');
    expect(files()).toHaveLength(1);
    rmSync(join(dirname(config.path), files()[0] ?? ''));
    expect(() => openForServing(config)).toThrow(/pds\.catalog-1-.*, the current catalog of .*, is missing/);
    expect(existsSync(config.path)).toBe(true);
    expect(files()).toEqual([]);
  });

  test('keys and partners change while an import runs, also after it has begun to write', async () => {
    await publishName('A');
    await createPartner(database, clock, 'acme', { everything: true });
    const { details } = await issueKey(database, clock, 'acme', { environment: 'test', lifetimeMs: null });
    const other = openForCommands(made.config);
    try {
      await changeCatalog(other, { clock }, async ({ kysely }) => {
        await kysely.updateTable('catalog.coops').set({ name: 'B' }).execute();
        await revokeKey(database, clock, details.id);
        return { result: null, event: { what: 'release', complete: async () => undefined } };
      });
    } finally {
      await other.close();
    }
    expect(await nameIn(database)).toBe('B');
  });

  test('partners read everything again after a rollback, and a listing begun before it ends in one state', async () => {
    const service = await startService({
      catalog: SMALL_CATALOG,
      clock,
      partners: [{ name: 'all', everything: true }],
    });
    try {
      const { key } = service.partner('all');
      const renamed = SMALL_CATALOG.contracts.map((record) => ({ ...record, name: `${record.name}, renamed` }));
      await publishLines(service.database, { contracts: renamed });
      const first = await service.get('/v1/contracts?limit=1', { key });
      const { next_cursor: cursor } = (JSON.parse(first.body) as { meta: { next_cursor: string } }).meta;
      const watermark = String(first.headers['x-sync-watermark']);
      await rollback(service.database, { clock });
      const rest = await service.get(`/v1/contracts?limit=1&cursor=${cursor}`, { key });
      expect(rest.headers['x-sync-watermark']).toBe(watermark);
      const since = await service.get(`/v1/contracts?updated_since=${watermark}`, { key });
      expect(dataOf(since).map(({ name }) => name)).toEqual(SMALL_CATALOG.contracts.map(({ name }) => name));
      expect(String(since.headers['x-sync-watermark']) > watermark).toBe(true);
    } finally {
      await service.close();
    }
  });

  test('pds rollback and pds releases report what they did, and ask for --yes without a terminal', async () => {
    await publishName('A');
    await publishName('B');
    const settings = { PDS_DATABASE_URL: databaseUrlOf(made.config) };
    const asked = await callPds(['rollback'], settings);
    expect(asked.code).not.toBe(0);
    expect(await nameIn(database)).toBe('B');
    const { code, stderr } = await callPds(['rollback', '--yes'], settings);
    expect(code, stderr).toBe(0);
    expect(stderr).toContain('Rolled back from release 2 to 1');
    const { stdout } = await callPds(['releases'], settings);
    expect(stdout).toMatch(/^3 .*reset +current$/m);
    expect(stdout).toMatch(/^2 .*release +1 +kept$/m);
  });
});
