import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { sql } from 'kysely';
import { describe, expect, test } from 'vitest';
import { listGrants, revoke } from '../../src/access/grant-admin.ts';
import { issueKey, listKeys, revokeKey } from '../../src/access/key-admin.ts';
import { createPartner, getPartner, listPartners, suspendPartner } from '../../src/access/partner-admin.ts';
import type { OpenDatabase } from '../../src/database/database.ts';
import { findLastRelease, listReleases } from '../../src/database/event-log.ts';
import { openForServing } from '../../src/database/open.ts';
import { testWith } from '../support/installed-programs.ts';
import { runPdsInTerminal } from '../support/process/in-terminal.ts';
import { callPds } from '../commands/call-pds.ts';
import { runPdsSignalled } from '../commands/run-pds.ts';
import { forEachTest } from '../support/lifetimes.ts';
import { becomeLaterVersion } from '../support/schema/later-version.ts';
import { expectIntact } from '../support/sqlite-files.ts';
import { storeUsage } from '../usage/recording.ts';
import { actions, cityNames, createBackedUp, renameCity } from './backed-up.ts';

const TEST_KEY = { environment: 'test', lifetimeMs: null } as const;

const files = forEachTest(createBackedUp);

describe('pds restore', { timeout: 120_000 }, () => {
  test('restores the backup, keeps the replaced files, and continues the timestamps', async () => {
    await files.backUp();
    const lost = await files.use(async (database) => renameCity(database, 'Renamed since'));
    const { code, stdout } = await files.restore();
    expect(code).toBe(0);
    const report = JSON.parse(stdout) as { recovered_at: string; replaced: string[] };
    expect(report.recovered_at > lost).toBe(true);
    await files.use(async (database) => {
      expect(await cityNames(database)).toEqual(['City of A', 'City of B']);
      await expectIntact(database);
    });
    expect(report.replaced).toEqual([]);
    expect((await callPds(['rollback', '--yes'], files.settings)).code).toBe(0);
    expect(await files.use(cityNames)).toEqual(['Renamed since', 'City of B']);
  });

  test.each(['is missing', 'is no database'])(
    'replaces a current catalog that %s, and a server follows',
    async (damage) => {
      await files.backUp();
      const file = await files.use(async (database) => {
        await renameCity(database, 'Renamed since');
        return join(dirname(files.path), (await findLastRelease(database))?.file ?? '');
      });
      await using serving = openForServing({ engine: 'sqlite', path: files.path });
      expect(await cityNames(serving)).toEqual(['Renamed since', 'City of B']);
      rmSync(file);
      if (damage === 'is no database') writeFileSync(file, 'no database any more');
      const { code, stderr } = await callPds(['restore', files.target, '--yes'], files.settings);
      expect(code, stderr).toBe(0);
      expect(await cityNames(serving)).toEqual(['City of A', 'City of B']);
      expect(await files.use(cityNames)).toEqual(['City of A', 'City of B']);
    },
  );

  test('uses no number of a release again, although the log of an older backup was restored before', async () => {
    await files.backUp();
    await files.use(async (database) => {
      for (const name of ['2', '3', '4']) await renameCity(database, name);
    });
    const newer = `${files.target}-newer`;
    expect((await callPds(['backup', newer], files.settings)).code).toBe(0);
    expect((await callPds(['restore', files.target, '--yes', '--access'], files.settings)).code).toBe(0);
    expect((await callPds(['restore', newer, '--yes'], files.settings)).code).toBe(0);
    await files.use(async (database) => {
      expect(await cityNames(database)).toEqual(['4', 'City of B']);
      await renameCity(database, 'after');
      const releases = await listReleases(database, 3);
      expect(releases.map(({ release, what }) => `${release} ${what}`)).toEqual(['6 release', '5 reset', '2 reset']);
    });
  });

  test('without a terminal, needs --yes before it replaces a database, but not if there is none', async () => {
    await files.backUp();
    const words = ['restore', files.target];
    const { code, stderr } = await callPds(words, files.settings);
    expect(code).toBe(1);
    expect(stderr).toMatch(
      /^error: this restore replaces .*pds\.sqlite \(last event at .*\) with the backup of .*Add --yes/,
    );
    const elsewhere = { ...files.settings, PDS_DATABASE_URL: `sqlite:${join(files.folder, 'elsewhere.sqlite')}` };
    expect((await callPds([...words, '--access'], elsewhere)).code).toBe(0);
  });

  testWith('python').each([
    ['', 1],
    ['no', 1],
    ['ctrl-c', 130],
    ['y', 0],
  ])('asks on a terminal, and %j ends it with %i (needs python3)', async (typed, code) => {
    await files.backUp();
    await files.use(async (database) => renameCity(database, 'Renamed since'));
    const before = readdirSync(files.folder, { recursive: true });
    const words = ['restore', files.target];
    const { code: ended, output } = await runPdsInTerminal(words, files.settings, { text: '[y/N]', typed });
    expect({ ended, output }).toMatchObject({ ended: code, output: expect.stringContaining(files.path) as string });
    if (code !== 0) expect(readdirSync(files.folder, { recursive: true })).toEqual(before);
    const name = code === 0 ? 'City of A' : 'Renamed since';
    expect(await files.use(cityNames)).toEqual([name, 'City of B']);
  });

  test('interrupted during recovery leaves the database unchanged, and nothing beside it', async () => {
    await files.backUp();
    await files.use(async (database) => renameCity(database, 'Renamed since'));
    const before = readdirSync(files.folder, { recursive: true });
    // Of the copy, which is complete then.
    const signal = { signal: 'SIGINT', statement: 'select max(at) as value from catalog.releases' } as const;
    expect(await runPdsSignalled(['restore', files.target, '--yes'], files.settings, signal)).toMatchObject({
      code: 130,
      stderr: 'Interrupted; nothing was restored.\n',
    });
    expect(readdirSync(files.folder, { recursive: true })).toEqual(before);
    expect(await files.use(cityNames)).toEqual(['Renamed since', 'City of B']);
  });

  test('keeps partners, keys and grants as they are now', async () => {
    const issue = async (database: OpenDatabase) => (await issueKey(database, Date.now, 'acme', TEST_KEY)).details.id;
    const revoked = await files.use(issue);
    await files.backUp();
    const late = await files.use(async (database) => {
      await renameCity(database, 'Renamed since');
      await revokeKey(database, Date.now, revoked);
      await suspendPartner(database, Date.now, 'bolt');
      await revoke(database, Date.now, 'bolt', { everything: false, leadEntities: ['le_b'], coops: [] });
      await createPartner(database, Date.now, 'late', { everything: true });
      return issue(database);
    });
    const { code, stdout } = await files.restore();
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).not.toHaveProperty('suspended_partners');
    await files.use(async (database) => {
      expect(await cityNames(database)).toEqual(['City of A', 'City of B']);
      const keys = await listKeys(database, Date.now, null);
      expect(new Map(keys.map(({ id, state }) => [id, state]))).toEqual(
        new Map([
          [revoked, 'revoked'],
          [late, 'active'],
        ]),
      );
      const partners = await listPartners(database, Date.now);
      expect(partners.map(({ name, suspendedAt }) => [name, suspendedAt !== null])).toEqual([
        ['acme', false],
        ['bolt', true],
        ['late', false],
      ]);
      expect((await listGrants(database, 'bolt')).leadEntities.map(({ id }) => id)).toEqual(['le_a']);
      expect(await actions(database)).toContain('restore');
    });
  });

  test.each(['is missing', 'is damaged', 'has none'])(
    'refuses to keep partners if the file %s, and names --access',
    async (state) => {
      await files.backUp();
      if (state === 'is missing') rmSync(files.path);
      else if (state === 'is damaged') writeFileSync(files.path, 'no database any more');
      else {
        rmSync(dirname(files.path), { recursive: true });
        expect((await callPds(['migrate'], files.settings)).code).toBe(0);
      }
      const before = readdirSync(dirname(files.path)).toSorted();
      const { code, stderr } = await files.restore();
      expect(code).toBe(1);
      expect(stderr).toMatch(new RegExp(`cannot be kept, because it ${state}\\. Add --access`));
      expect(readdirSync(dirname(files.path)).toSorted()).toEqual(before);
      expect((await files.restore('--access')).code).toBe(0);
    },
  );

  test('with --access restores partners, keys and grants, and suspends every partner until it is resumed', async () => {
    await files.backUp();
    // Partners have seen timestamps of a clock that was ahead.
    const aheadMs = Date.now() + 3_600_000;
    await files.use(async (database) => {
      await suspendPartner(database, Date.now, 'bolt');
      await revoke(database, Date.now, 'acme', { everything: true, leadEntities: [], coops: [] });
      await createPartner(database, () => aheadMs, 'late', { everything: true });
    });
    const { code, stdout, stderr } = await files.restore('--access');
    expect(code).toBe(0);
    const { recovered_at: at } = JSON.parse(stdout) as { recovered_at: string };
    expect(Date.parse(at)).toBeGreaterThan(aheadMs);
    expect(JSON.parse(stdout)).toMatchObject({ suspended_partners: ['acme', 'bolt'], kept_history: true });
    expect(stderr).toContain('every partner is suspended');
    await files.use(async (database) => {
      const partners = await listPartners(database, Date.now);
      expect(partners.map(({ name, suspendedAt }) => [name, suspendedAt !== null])).toEqual([
        ['acme', true],
        ['bolt', true],
      ]);
      expect(await getPartner(database, Date.now, 'acme')).toMatchObject({
        everythingSince: expect.any(String) as string,
      });
    });
    expect((await callPds(['partner', 'resume'], files.settings)).code).toBe(2);
    expect((await callPds(['partner', 'resume', 'acme', '--all'], files.settings)).code).toBe(2);
    const resumed = await callPds(['partner', 'resume', '--all', '--json'], files.settings);
    expect(JSON.parse(resumed.stdout)).toEqual({ resumed: ['acme', 'bolt'] });
    expect(await files.use(actions)).toEqual(expect.arrayContaining(['restore', 'partner resume', 'partner resume']));
  });

  test.each([[], ['--access']])('preserves the audit trail and usage since the backup (%s)', async (...options) => {
    const count = (endpoint: string, requests: number) =>
      files.use((database) => storeUsage(database, { partner_id: 1, endpoint, requests }));
    await count('/v1/coops', 5);
    await files.backUp();
    await count('/v1/coops', 7);
    await count('/v1/contracts', 2);
    await files.use((database) => suspendPartner(database, Date.now, 'bolt'));
    const before = await files.use(actions);
    expect((await files.restore(...options)).code).toBe(0);
    expect(await files.use(actions)).toEqual([...before, 'restore']);
    const usage = await files.use(({ kysely }) =>
      kysely.selectFrom('access.usage').select(['endpoint', 'requests']).orderBy('endpoint').execute(),
    );
    expect(usage).toEqual([
      { endpoint: '/v1/contracts', requests: 2 },
      { endpoint: '/v1/coops', requests: 7 },
    ]);
  });

  test('preserves the audit trail since a backup of the version before', async () => {
    await files.backUp();
    using later = new DisposableStack();
    later.use(becomeLaterVersion());
    const before = await files.use(async (database) => {
      const earlier = await actions(database);
      await suspendPartner(database, Date.now, 'bolt');
      return earlier;
    });
    const words = ['restore', files.target, '--yes', '--access'];
    expect((await callPds(words, files.settings)).code).toBe(0);
    // The migration of the backup, then the entries since the backup, which begin with that of the database.
    const restored = await files.use(actions);
    expect(restored.slice(-3)).toEqual(['migrate', 'partner suspend', 'restore']);
    expect(restored.slice(0, before.length - 1)).toEqual(before.slice(0, -1));
  });

  test('restores where there is no database', async () => {
    await files.backUp();
    rmSync(dirname(files.path), { recursive: true });
    const { code, stdout } = await files.restore('--access');
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ suspended_partners: ['acme', 'bolt'], kept_history: false });
    const names = readdirSync(dirname(files.path)).sort();
    expect(names).toEqual([expect.stringMatching(/^pds\.catalog-0-/), 'pds.sqlite']);
    for (const name of names) expect(statSync(join(dirname(files.path), name)).mode & 0o777).toBe(0o600);
    expect(await files.use(cityNames)).toEqual(['City of A', 'City of B']);
  });

  test.each(['is missing', 'is damaged'])('keeps all catalogs under other names if the log %s', async (state) => {
    await files.backUp();
    const file = await files.use(async (database) => {
      await renameCity(database, 'Renamed since');
      return join(dirname(files.path), (await findLastRelease(database))?.file ?? '');
    });
    const newest = readFileSync(file);
    if (state === 'is missing') rmSync(files.path);
    else writeFileSync(files.path, 'no database any more');
    const { code, stdout, stderr } = await files.restore('--access');
    expect(code, stderr).toBe(0);
    const { replaced } = JSON.parse(stdout) as { replaced: string[] };
    for (const name of ['2', '3', '4']) await files.use((database) => renameCity(database, name));
    const [kept = ''] = replaced.filter((path) => path.startsWith(`${file}.replaced-`));
    expect(readFileSync(kept).equals(newest)).toBe(true);
  });

  test('replaces a damaged database without applying its WAL to the new one', async () => {
    await files.backUp();
    // A killed process leaves its write-ahead log next to the file.
    const log = await files.use(async (database) => {
      await sql`create table access.more (text)`.execute(database.kysely);
      return readFileSync(`${files.path}-wal`);
    });
    expect(log.length).toBeGreaterThan(0);
    writeFileSync(`${files.path}-wal`, log);
    writeFileSync(files.path, 'no database any more');
    const { code, stderr } = await files.restore('--access');
    expect(code).toBe(0);
    expect(stderr).toContain('too damaged to check for processes that use it');
    expect(existsSync(`${files.path}-wal`)).toBe(false);
    await files.use(async (database) => {
      expect(await cityNames(database)).toEqual(['City of A', 'City of B']);
      const { rows } = await sql`select 1 from access.sqlite_schema where name = 'more'`.execute(database.kysely);
      expect(rows).toEqual([]);
    });
  });

  test('accepts --after if the lost timestamps were ahead of this clock', async () => {
    await files.backUp();
    rmSync(dirname(files.path), { recursive: true });
    const after = new Date(Date.now() + 3_600_000).toISOString();
    const { stdout } = await files.restore('--access', '--after', after);
    expect((JSON.parse(stdout) as { recovered_at: string }).recovered_at > after).toBe(true);
  });
});
