import { cpSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { callPds } from '../commands/call-pds.ts';
import { runBefore } from '../support/schema/version-before.ts';
import { createFormerDatabase, look, type FormerDatabase } from './former-database.ts';

const NAMES = ['City of A', 'City of B'];

let former: FormerDatabase;
let files: FormerDatabase['files'];
let data: string;
beforeAll(async () => {
  former = await createFormerDatabase();
  ({ files, data } = former);
});
afterAll(() => files.remove());

test.each([[], ['--access']])('a backup of version 1.3 is restored (%s)', async (...options) => {
  former.reset();
  expect((await callPds(['migrate'], files.settings)).code).toBe(0);
  const { code, stderr } = await callPds(['restore', former.backup, '--yes', ...options], files.settings);
  expect(code, stderr).toBe(0);
  expect(stderr).toContain('Migrated: ');
  expect(await files.use(look)).toEqual({ names: NAMES, active: options.length > 0 ? 0 : 1 });
});

test('a backup of this version is refused by version 1.3, and a database of that version by a restore, with the way out', async () => {
  former.reset();
  expect((await callPds(['migrate'], files.settings)).code).toBe(0);
  const backup = join(files.folder, 'backup');
  expect((await callPds(['backup', backup], files.settings)).code).toBe(0);
  former.reset();
  const namesIn = () =>
    readdirSync(data)
      .filter((name) => !/-(wal|shm)$/.test(name))
      .toSorted();
  const before = namesIn();
  await expect(runBefore(former.url, 'restore', backup, '--yes')).rejects.toThrow(
    /supports only 8: restore it with version/,
  );
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
  expect(await runBefore(former.url, 'partner', 'list', '--json')).toContain('acme');
});

test.each([
  ['catalog', 'catalog.sqlite', 'has a catalog without its partners and keys'],
  ['partners and keys of version 1.3', 'access.sqlite', 'has partners and keys of version 1.3 without their catalog'],
])('a file of a backup that was copied to the path of the database is refused: %s', async (_, name, message) => {
  former.reset();
  expect((await callPds(['migrate'], files.settings)).code).toBe(0);
  const backup = join(files.folder, `backup-of-${name}`);
  expect((await callPds(['backup', backup], files.settings)).code).toBe(0);
  rmSync(data, { recursive: true });
  mkdirSync(data);
  cpSync(join(name === 'catalog.sqlite' ? backup : former.backup, name), files.path);
  for (const words of [['partner', 'list'], ['migrate']]) {
    const { code, stderr } = await callPds(words, files.settings);
    expect([code, stderr]).toEqual([1, expect.stringContaining(message)]);
  }
});
