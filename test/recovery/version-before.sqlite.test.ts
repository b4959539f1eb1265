import { join } from 'node:path';
import { beforeAll, beforeEach, expect, test } from 'vitest';
import { backUpBeside } from '../../src/recovery/backup.ts';
import { callPds } from '../commands/call-pds.ts';
import { forAllTests } from '../support/lifetimes.ts';
import { SMALL_CATALOG } from '../support/publishing.ts';
import { importBefore, runBefore } from '../support/schema/version-before.ts';
import { createSqliteFiles } from '../support/sqlite-files.ts';
import { VERSION_BEFORE } from '../upgrade/version-before.ts';
import { activePartners, cityNames } from './backed-up.ts';

let url: string;
let backupOfBefore: string;
const files = forAllTests(createSqliteFiles);
beforeAll(async () => {
  url = files.settings.PDS_DATABASE_URL;
  backupOfBefore = join(files.folder, 'backup');
  await importBefore(url, SMALL_CATALOG);
  await runBefore(url, 'partner', 'create', 'acme', '--everything');
  await runBefore(url, 'backup', backupOfBefore);
  files.save();
});

beforeEach(() => files.reset());

async function expectRestored(active: number): Promise<void> {
  await files.use(async (database) => {
    expect(await cityNames(database)).toEqual(['City of A', 'City of B']);
    expect(await activePartners(database)).toBe(active);
  });
}

test.each([[], ['--access']])(`a backup of version ${VERSION_BEFORE.version} is restored (%s)`, async (...options) => {
  expect((await callPds(['migrate'], files.settings)).code).toBe(0);
  const { code, stderr } = await callPds(['restore', backupOfBefore, '--yes', ...options], files.settings);
  expect(code, stderr).toBe(0);
  await expectRestored(options.length > 0 ? 0 : 1);
});

test(`version ${VERSION_BEFORE.version} restores the backup that this one makes before an upgrade`, async () => {
  const backup = await backUpBeside(files.path, { clock: Date.now });
  await runBefore(url, 'restore', backup, '--access', '--yes');
  await expectRestored(0);
});
