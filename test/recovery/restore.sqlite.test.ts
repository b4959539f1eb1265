import { cpSync, existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { sql } from 'kysely';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { grant, listGrants, revoke } from '../../src/access/grant-admin.ts';
import { issueKey, listKeys, revokeKey, rotateKey } from '../../src/access/key-admin.ts';
import {
  createPartner,
  getPartner,
  resumePartner,
  setPartner,
  suspendPartner,
} from '../../src/access/partner-admin.ts';
import type { OpenDatabase } from '../../src/database/database.ts';
import { MIGRATIONS } from '../../src/database/migrations/migrations.ts';
import { sqliteFiles } from '../../src/database/sqlite/sqlite-files.ts';
import { restore as restoreInProcess } from '../../src/recovery/restore.ts';
import { testWith } from '../support/installed-programs.ts';
import { runPdsInTerminal } from '../support/process/in-terminal.ts';
import { runPds, runPdsSignalled } from '../commands/run-pds.ts';
import type { SqliteFiles } from '../support/sqlite-files.ts';
import { cityNames, createBackedUp, renameCity, type BackedUp } from './backed-up.ts';

const TEST_KEY = { environment: 'test', lifetimeMs: null } as const;

let files: SqliteFiles;
let backUp: BackedUp['backUp'];
let restore: BackedUp['restore'];

beforeEach(async () => {
  ({ files, backUp, restore } = await createBackedUp());
});
afterEach(() => files.remove());

async function actions({ kysely }: OpenDatabase): Promise<string[]> {
  const rows = await kysely.selectFrom('access.audit').select('action').orderBy('id').execute();
  return rows.map(({ action }) => action);
}

describe('pds restore', { timeout: 120_000 }, () => {
  test('restores the backup, keeps the replaced files, and continues the timestamps', async () => {
    await backUp();
    const lost = await files.use(async (database) => renameCity(database, 'Renamed since'));
    const { code, stdout } = await restore();
    expect(code).toBe(0);
    const report = JSON.parse(stdout) as { recovered_at: string; replaced: string[]; records: number };
    expect(report.records).toBe(6);
    expect(report.recovered_at > lost).toBe(true);
    await files.use(async (database) => {
      expect(await cityNames(database)).toEqual(['City of A', 'City of B']);
      const { rows } = await sql<{ integrity_check: string }>`pragma catalog.integrity_check`.execute(database.kysely);
      expect(rows).toEqual([{ integrity_check: 'ok' }]);
    });
    // A restore is undone by moving the replaced files back by hand.
    expect(report.replaced).toHaveLength(2);
    expect(statSync(sqliteFiles(files.path).access).mode & 0o777).toBe(0o600);
    cpSync(report.replaced[0] ?? '', files.path);
    cpSync(report.replaced[1] ?? '', sqliteFiles(files.path).access);
    expect((await runPds(['recover', '--yes'], files.settings)).code).toBe(0);
    await files.use(async (database) => expect(await cityNames(database)).toEqual(['Renamed since', 'City of B']));
  });

  test('without a terminal, needs --yes before it replaces a database, but not if there is none', async () => {
    await backUp();
    const words = ['restore', join(files.folder, 'backup')];
    const { code, stderr } = await runPds(words, files.settings);
    expect(code).toBe(1);
    expect(stderr).toMatch(
      /^error: this restore replaces .*pds\.sqlite \(last event at .*\) with the backup of .*Add --yes/,
    );
    const elsewhere = { ...files.settings, PDS_DATABASE_URL: `sqlite:${join(files.folder, 'elsewhere.sqlite')}` };
    expect((await runPds(words, elsewhere)).code).toBe(0);
  });

  testWith('python').each([
    ['', 1],
    ['no', 1],
    ['ctrl-c', 130],
    ['y', 0],
  ])('asks on a terminal, and %j ends it with %i (needs python3)', async (typed, code) => {
    await backUp();
    await files.use(async (database) => renameCity(database, 'Renamed since'));
    const before = readdirSync(files.folder, { recursive: true });
    const words = ['restore', join(files.folder, 'backup')];
    const { code: ended, output } = await runPdsInTerminal(words, files.settings, { text: '[y/N]', typed });
    expect({ ended, output }).toMatchObject({ ended: code, output: expect.stringContaining(files.path) as string });
    if (code !== 0) expect(readdirSync(files.folder, { recursive: true })).toEqual(before);
    const name = code === 0 ? 'City of A' : 'Renamed since';
    await files.use(async (database) => expect(await cityNames(database)).toEqual([name, 'City of B']));
  });

  test('interrupted during recovery leaves the database unchanged, and nothing beside it', async () => {
    await backUp();
    await files.use(async (database) => renameCity(database, 'Renamed since'));
    const before = readdirSync(files.folder, { recursive: true });
    const words = ['restore', join(files.folder, 'backup'), '--yes'];
    // The first statement of the recovery of the copy.
    const signal = { signal: 'SIGINT', at: 'update "catalog"."suppliers" as record' } as const;
    expect(await runPdsSignalled(words, files.settings, signal)).toMatchObject({
      code: 130,
      stderr: 'Interrupted; nothing was restored.\n',
    });
    expect(readdirSync(files.folder, { recursive: true })).toEqual(before);
    await files.use(async (database) => expect(await cityNames(database)).toEqual(['Renamed since', 'City of B']));
  });

  test('does not undo restrictions made since the backup, and lists lost access', async () => {
    const [kept, revoked, rotated] = await files.use(async (database) => {
      const issue = async (partner: string) => (await issueKey(database, Date.now, partner, TEST_KEY)).details.id;
      await suspendPartner(database, Date.now, 'bolt');
      return [await issue('acme'), await issue('acme'), await issue('bolt')] as const;
    });
    await backUp();
    const [late, replacement] = await files.use(async (database) => {
      await revokeKey(database, Date.now, revoked);
      const { issued } = await rotateKey(database, Date.now, rotated, 60_000);
      await resumePartner(database, Date.now, 'bolt');
      await revoke(database, Date.now, 'bolt', { everything: false, leadEntities: ['le_b'], coops: [] });
      await suspendPartner(database, Date.now, 'acme');
      await revoke(database, Date.now, 'acme', { everything: true, leadEntities: [], coops: [] });
      await grant(database, Date.now, 'acme', { everything: false, leadEntities: ['le_a'], coops: [] });
      await setPartner(database, Date.now, 'bolt', { kinds: ['contracts', 'coops'] });
      await createPartner(database, Date.now, 'late', { everything: true });
      const { details } = await issueKey(database, Date.now, 'late', TEST_KEY);
      return [details.id, issued.details.id] as const;
    });
    const { code, stdout, stderr } = await restore();
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      carried_over: {
        revoked_keys: [revoked],
        shortened_keys: [rotated],
        suspended_partners: ['acme'],
        narrowed_partners: ['bolt'],
        revoked_grants: ['acme: everything', 'bolt: lead_entity le_b'],
      },
      gone: {
        partners: ['late'],
        keys: [`${late} of late`, `${replacement} of bolt`].sort(),
        grants: ['acme: lead_entity le_a', 'late: everything'],
      },
    });
    expect(stderr).not.toContain('WORKS AGAIN');
    await files.use(async (database) => {
      const states = (await listKeys(database, Date.now, null)).map(({ id, state, expiresAt }) => [
        id,
        state,
        expiresAt !== null,
      ]);
      expect(new Map(states.map(([id, ...rest]) => [id, rest]))).toEqual(
        new Map([
          [kept, ['active', false]],
          [revoked, ['revoked', false]],
          [rotated, ['active', true]],
        ]),
      );
      // Rotated again to replace the key that is gone: its original lifetime is still known.
      const { issued } = await rotateKey(database, Date.now, rotated, 0);
      expect(issued.details.expiresAt).toBeNull();
      expect(await getPartner(database, Date.now, 'acme')).toMatchObject({ everythingSince: null });
      // Restrictions lifted since the backup are back.
      const bolt = await getPartner(database, Date.now, 'bolt');
      expect(bolt.suspendedAt).not.toBeNull();
      expect(bolt.kinds).toEqual(['contracts', 'coops']);
      const { leadEntities, coops } = await listGrants(database, 'bolt');
      expect([leadEntities, coops].map((grants) => grants.map(({ id }) => id))).toEqual([['le_a'], ['co_x']]);
    });
  });

  test('preserves the audit trail and usage since the backup', async () => {
    const count = (endpoint: string, requests: number) => (database: OpenDatabase) =>
      database.kysely
        .insertInto('access.usage')
        .values({
          day: '2026-04-15',
          partner_id: 1,
          key_id: 'k',
          endpoint,
          requests,
          records: 1,
          limited: 0,
          failed: 0,
        })
        .onConflict((conflict) =>
          conflict.columns(['day', 'partner_id', 'key_id', 'endpoint']).doUpdateSet({ requests }),
        )
        .execute();
    await files.use(count('/v1/coops', 5));
    await backUp();
    await files.use(count('/v1/coops', 7));
    await files.use(count('/v1/contracts', 2));
    await files.use((database) => suspendPartner(database, Date.now, 'bolt'));
    const before = await files.use(actions);
    expect((await restore()).code).toBe(0);
    expect(await files.use(actions)).toEqual([...before, 'restore']);
    const usage = await files.use(({ kysely }) =>
      kysely.selectFrom('access.usage').select(['endpoint', 'requests']).orderBy('endpoint').execute(),
    );
    expect(usage).toEqual([
      { endpoint: '/v1/contracts', requests: 2 },
      { endpoint: '/v1/coops', requests: 7 },
    ]);
  });

  test.each(['checking', 'copying', 'recovering'] as const)(
    'that is interrupted while %s leaves the database as it was',
    async (step) => {
      await backUp();
      await files.use((database) => renameCity(database, 'Renamed since'));
      const before = readdirSync(dirname(files.path)).toSorted();
      const interrupted = restoreInProcess(files.path, join(files.folder, 'backup'), {
        clock: Date.now,
        onProgress: (current) => {
          if (current === step) throw new Error('interrupted');
        },
      });
      await expect(interrupted).rejects.toThrow('interrupted');
      expect(readdirSync(dirname(files.path)).toSorted()).toEqual(before);
      expect(await files.use(cityNames)).toEqual(['Renamed since', 'City of B']);
    },
  );

  test('migrates a backup of an older version', async () => {
    await files.use(async ({ kysely }) => {
      const tables = ['audit', 'usage', 'grant_changes', 'keys', 'grants', 'partners', 'clock', 'settings'];
      for (const table of tables) await sql.raw(`drop table access.${table}`).execute(kysely);
      for (const statement of MIGRATIONS.access[0]?.statements?.('sqlite') ?? [])
        await sql.raw(statement).execute(kysely);
      await kysely.deleteFrom('access.migrations').where('number', '>', 1).execute();
      await backUp();
    });
    const { code, stdout } = await restore();
    expect(code).toBe(0);
    const pending = MIGRATIONS.access.slice(1).map(({ number, name }) => `access ${number}: ${name}`);
    expect(JSON.parse(stdout)).toMatchObject({ migrations: pending });
    expect(await files.use(cityNames)).toEqual(['City of A', 'City of B']);
  });

  test('preserves the audit trail since a backup of an older version', async () => {
    const before = await files.use(async (database) => {
      await sql`alter table access.partners drop column deleted_at`.execute(database.kysely);
      await sql`delete from access.migrations where number > 6`.execute(database.kysely);
      await backUp();
      return actions(database);
    });
    await files.use((database) => suspendPartner(database, Date.now, 'bolt'));
    expect((await restore()).code).toBe(0);
    // The backup's migration, then the entries since the backup.
    expect(await files.use(actions)).toEqual([...before, 'migrate', 'migrate', 'partner suspend', 'restore']);
  });

  test('restores where there is no database, and reports that revoked keys are valid again', async () => {
    await backUp();
    rmSync(dirname(files.path), { recursive: true });
    const { code, stderr } = await restore();
    expect(code).toBe(0);
    expect(stderr).toContain('A KEY REVOKED SINCE THEN WORKS AGAIN');
    expect(readdirSync(dirname(files.path)).sort()).toEqual(['pds.access.sqlite', 'pds.sqlite']);
    for (const path of [files.path, sqliteFiles(files.path).access]) expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(await files.use(cityNames)).toEqual(['City of A', 'City of B']);
  });

  test('replaces a damaged database without applying its WAL to the new one', async () => {
    await backUp();
    // A killed process leaves its write-ahead log next to the file.
    const log = await files.use(async (database) => {
      await sql`create table catalog.more (text)`.execute(database.kysely);
      return readFileSync(`${files.path}-wal`);
    });
    expect(log.length).toBeGreaterThan(0);
    writeFileSync(`${files.path}-wal`, log);
    writeFileSync(files.path, 'no database any more');
    const { code, stderr } = await restore();
    expect(code).toBe(0);
    expect(stderr).toContain('too damaged to check for processes that use it');
    expect(existsSync(`${files.path}-wal`)).toBe(false);
    await files.use(async (database) => {
      expect(await cityNames(database)).toEqual(['City of A', 'City of B']);
      const { rows } = await sql`select 1 from catalog.sqlite_schema where name = 'more'`.execute(database.kysely);
      expect(rows).toEqual([]);
    });
  });

  test('accepts --after if the lost timestamps were ahead of this clock', async () => {
    await backUp();
    rmSync(dirname(files.path), { recursive: true });
    const after = new Date(Date.now() + 3_600_000).toISOString();
    const { stdout } = await restore('--after', after);
    expect((JSON.parse(stdout) as { recovered_at: string }).recovered_at > after).toBe(true);
  });
});
