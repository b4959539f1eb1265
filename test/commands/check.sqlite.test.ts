import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { SqliteConnection } from '../../src/database/sqlite-files.ts';
import { AS_ORDINARY_USER } from '../faults/ordinary-user.ts';
import { mountSmallDisk, whyNoSmallDisk } from '../faults/small-disk.ts';
import { publishLines, SMALL_CATALOG } from '../support/publishing.ts';
import { createSqliteFiles, type SqliteFiles } from '../support/sqlite-files.ts';
import { runCheck } from './checked.ts';

const NO_DISK = whyNoSmallDisk();

let files: SqliteFiles;
let access: string;

beforeEach(() => {
  files = createSqliteFiles();
  access = files.path.replace(/\.sqlite$/, '.access.sqlite');
});
afterEach(() => files.remove());

const make = (): Promise<unknown> => files.use((database) => publishLines(database, SMALL_CATALOG));

test('pds check makes no file where there is none', async () => {
  expect((await runCheck(files.settings)).troubles).toEqual([`warn|database: there is no ${files.path} yet`]);
  expect(readdirSync(files.folder)).toEqual([]);
  mkdirSync(dirname(files.path));
  expect((await runCheck(files.settings)).troubles).toEqual([`warn|database: there is no ${files.path} yet`]);
  expect(readdirSync(dirname(files.path))).toEqual([]);
});

test('pds check leaves every byte of the two files as it was', async () => {
  await make();
  // Opening the files for writing would change the journal mode.
  for (const file of [files.path, access]) {
    const connection = new SqliteConnection(file);
    connection.exec('pragma journal_mode = delete');
    connection.close();
  }
  const before = [readFileSync(files.path), readFileSync(access)];
  expect(await runCheck(files.settings)).toMatchObject({ code: 0, troubles: [] });
  expect([readFileSync(files.path), readFileSync(access)]).toEqual(before);
});

test('pds check fails where the folder above is missing, as of a disk that is not mounted', async () => {
  const { troubles } = await runCheck({
    PDS_DATABASE_URL: `sqlite:${join(files.folder, 'disk', 'data', 'pds.sqlite')}`,
  });
  expect(troubles).toEqual([expect.stringMatching(/^fail\|database: .* has no folder/)]);
});

test('pds check fails where one file of the two is missing, and does not make it', async () => {
  await make();
  rmSync(access);
  const { troubles } = await runCheck(files.settings);
  expect(troubles).toEqual([expect.stringContaining(`fail|database: ${access} is missing`)]);
  expect(existsSync(access)).toBe(false);
});

test('pds check fails where a file may be read alone, though it would open', async () => {
  await make();
  chmodSync(access, 0o400);
  const { troubles } = await runCheck(files.settings, { launcher: AS_ORDINARY_USER });
  expect(troubles).toEqual([expect.stringContaining(`fail|database: ${access} cannot be used: the user`)]);
});

test('pds check fails where the folder may not be written to', async () => {
  await make();
  chmodSync(dirname(files.path), 0o500);
  const { troubles } = await runCheck(files.settings, { launcher: AS_ORDINARY_USER });
  expect(troubles).toEqual([expect.stringContaining(`fail|database: ${files.path} cannot be used: the user`)]);
  chmodSync(dirname(files.path), 0o700);
});

test('pds check fails where a file is something else', async () => {
  await make();
  writeFileSync(files.path, 'no database, but long enough to be looked at');
  const { troubles } = await runCheck(files.settings);
  expect(troubles).toEqual([expect.stringContaining(`fail|database: ${files.path} is no SQLite database`)]);
});

test.skipIf(NO_DISK !== null)(`pds check warns where an import might find no room ${NO_DISK ?? ''}`, async () => {
  await make();
  const disk = mountSmallDisk(4);
  try {
    const path = join(disk.folder, 'pds.sqlite');
    copyFileSync(files.path, path);
    copyFileSync(access, join(disk.folder, 'pds.access.sqlite'));
    // SQLite creates a WAL index of 32 KiB next to each file.
    disk.fill(256 * 1024);
    const { code, troubles } = await runCheck({ PDS_DATABASE_URL: `sqlite:${path}` });
    expect({ code, troubles }).toEqual({
      code: 0,
      troubles: [expect.stringMatching(/^warn\|disk: 0\.\d MB are free/)],
    });
  } finally {
    disk.remove();
  }
});
