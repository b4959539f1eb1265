import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { listPartners } from '../../src/access/partner-admin.ts';
import type { OpenDatabase } from '../../src/database/database.ts';
import { formerAccessFile, isFormerCatalog, SqliteConnection } from '../../src/database/sqlite/sqlite-files.ts';
import { callPds } from '../commands/call-pds.ts';
import { MAIN } from '../commands/run-pds.ts';
import { SMALL_CATALOG } from '../support/publishing.ts';
import { importBefore, runBefore } from '../support/schema/version-before.ts';
import { createSqliteFiles, type SqliteFiles } from '../support/sqlite-files.ts';
import { cityNames } from './backed-up.ts';

/* Version 1.3 had two files, which an upgrade takes over. */

const KILL_AT = fileURLToPath(new URL('kill-at.ts', import.meta.url));
const NAMES = ['City of A', 'City of B'];

let files: SqliteFiles;
let data: string;
let pristine: string;
let backupBefore: string;
let url: string;

beforeAll(async () => {
  files = createSqliteFiles();
  data = dirname(files.path);
  pristine = join(files.folder, 'pristine');
  backupBefore = join(files.folder, 'backup-of-1.3');
  url = files.settings['PDS_DATABASE_URL'] ?? '';
  await importBefore(url, SMALL_CATALOG);
  await runBefore(url, 'partner', 'create', 'acme', '--everything');
  await runBefore(url, 'backup', backupBefore);
  cpSync(data, pristine, { recursive: true });
});
afterAll(() => files.remove());

function reset(): void {
  rmSync(data, { recursive: true, force: true });
  cpSync(pristine, data, { recursive: true });
}

const look = async (database: OpenDatabase) => ({
  names: await cityNames(database),
  active: (await listPartners(database, Date.now)).filter(({ suspendedAt }) => suspendedAt === null).length,
});

/** Runs `pds migrate`, and kills it before an operation on a file; returns whether it completed. */
async function migrateKilled(killAt: number): Promise<boolean> {
  reset();
  const child = spawn(process.execPath, ['--import', KILL_AT, MAIN, 'migrate'], {
    env: { PATH: process.env['PATH'], ...files.settings, KILL_AT: String(killAt) },
    stdio: 'ignore',
  });
  const [code] = (await once(child, 'exit')) as [number | null];
  return code === 0;
}

test('an upgrade killed before any file operation leaves the old database or the new one, complete, and can be run again', async () => {
  const found: ('new' | 'old')[] = [];
  for (let killAt = 0; ; killAt += 1) {
    const isDone = await migrateKilled(killAt);
    const isOld = isFormerCatalog(files.path);
    found.push(isOld ? 'old' : 'new');
    for (const file of isOld ? [files.path, formerAccessFile(files.path)] : [files.path]) {
      using connection = new SqliteConnection(file);
      expect(connection.prepare('pragma integrity_check').get()).toEqual({ integrity_check: 'ok' });
    }
    if (isDone) break;
    expect((await callPds(['migrate'], files.settings)).code).toBe(0);
    expect(await files.use(look)).toEqual({ names: NAMES, active: 1 });
    expect(existsSync(`${files.path}.upgrading`)).toBe(false);
  }
  expect(found).toEqual(found.toSorted().reverse());
  expect(found.filter((state) => state === 'old').length).toBeGreaterThan(4);
  expect(found.slice(0, -1)).toContain('new');
  expect(readdirSync(data).filter((name) => name.includes('.before-2.0-')).length).toBe(2);
}, 280_000);

test.each([[], ['--access']])('a backup of version 1.3 is restored (%s)', async (...options) => {
  reset();
  expect((await callPds(['migrate'], files.settings)).code).toBe(0);
  const { code, stderr } = await callPds(['restore', backupBefore, '--yes', ...options], files.settings);
  expect(code, stderr).toBe(0);
  expect(stderr).toContain('Migrated: ');
  expect(await files.use(look)).toEqual({ names: NAMES, active: options.length > 0 ? 0 : 1 });
});

test('a backup of this version is refused by version 1.3, and a database of that version by a restore, with the way out', async () => {
  reset();
  expect((await callPds(['migrate'], files.settings)).code).toBe(0);
  const backup = join(files.folder, 'backup');
  expect((await callPds(['backup', backup], files.settings)).code).toBe(0);
  reset();
  const namesIn = () => readdirSync(data).filter((name) => !/-(wal|shm)$/.test(name)).toSorted();
  const before = namesIn();
  await expect(runBefore(url, 'restore', backup, '--yes')).rejects.toThrow(/supports only 8: restore it with version/);
  for (const [options, message] of [
    [[], /older than this version .*run "pds migrate" first/],
    [['--access'], /is a database of version 1\.3: run "pds migrate" first/],
  ] as const) {
    for (const answer of [[], ['--yes']]) {
      const { code, stderr } = await callPds(['restore', backup, ...answer, ...options], files.settings);
      expect([code, stderr]).toEqual([1, expect.stringMatching(message)]);
    }
  }
  expect(namesIn()).toEqual(before);
  expect(await runBefore(url, 'partner', 'list', '--json')).toContain('acme');
});

test.each([
  ['catalog', 'catalog.sqlite', 'has a catalog without its partners and keys'],
  ['partners and keys of version 1.3', 'access.sqlite', 'has partners and keys of version 1.3 without their catalog'],
])('a file of a backup that was copied to the path of the database is refused: %s', async (_, name, message) => {
  reset();
  expect((await callPds(['migrate'], files.settings)).code).toBe(0);
  const backup = join(files.folder, `backup-of-${name}`);
  expect((await callPds(['backup', backup], files.settings)).code).toBe(0);
  rmSync(data, { recursive: true });
  mkdirSync(data);
  cpSync(join(name === 'catalog.sqlite' ? backup : backupBefore, name), files.path);
  for (const words of [['partner', 'list'], ['migrate']]) {
    const { code, stderr } = await callPds(words, files.settings);
    expect([code, stderr]).toEqual([1, expect.stringContaining(message)]);
  }
});
