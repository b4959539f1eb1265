import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
  writeSync,
  closeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { migrate } from '../../src/database/migrations/migrator.ts';
import { openForCommands } from '../../src/database/open.ts';
import { makePartner } from '../support/partners.ts';
import { publishLines, SMALL_CATALOG, solicitation } from '../support/publishing.ts';
import { runPdsThrough, type Outcome } from '../commands/run-pds.ts';
import { AS_ORDINARY_USER } from './ordinary-user.ts';
import { mountSmallDisk, whyNoSmallDisk } from './small-disk.ts';

const NAMES = ['pds.sqlite', 'pds.access.sqlite'] as const;
const NO_DISK = whyNoSmallDisk();

/** An intact, closed database: each test damages a copy of it. */
let good: string;
let folder: string;
let catalog: string;
let access: string;

beforeAll(async () => {
  good = mkdtempSync(join(tmpdir(), 'pds-good-'));
  const database = openForCommands({ engine: 'sqlite', path: join(good, 'pds.sqlite') });
  await migrate(database, Date.now);
  const many = Array.from({ length: 400 }, (_, index) => solicitation(`sol_${index}`, index + 1));
  await publishLines(database, { ...SMALL_CATALOG, solicitations: many });
  await makePartner(database, Date.now, { name: 'acme', everything: true });
  await database.close();
});
afterAll(() => rmSync(good, { recursive: true }));

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'pds-broken-'));
  copyInto(folder);
});
afterEach(() => {
  chmodSync(folder, 0o755);
  rmSync(folder, { recursive: true });
});

function copyInto(target: string): void {
  for (const name of NAMES) copyFileSync(join(good, name), join(target, name));
  [catalog, access] = [join(target, NAMES[0]), join(target, NAMES[1])];
}

/** The bytes of every file in the folder, by name. */
function contents(): Record<string, string> {
  const files = readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isFile());
  return Object.fromEntries(files.map(({ name }) => [name, readFileSync(join(folder, name), 'base64')]));
}

function run(words: string[], path = catalog): Promise<Outcome> {
  const settings = { PDS_DATABASE_URL: `sqlite:${path}`, PDS_PORT: '0', PDS_ADMIN_PORT: '0' };
  return runPdsThrough(AS_ORDINARY_USER, words, settings);
}

/** Asserts that a command and the service exit with 1 and exactly this message, and change nothing in the folder. */
async function expectRefused(message: string, path = catalog): Promise<void> {
  const before = contents();
  const [command, server] = await Promise.all([run(['key', 'issue', 'acme'], path), run(['serve'], path)]);
  expect(command).toEqual({ code: 1, stdout: '', stderr: `error: ${message}\n` });
  expect(server).toMatchObject({ code: 1, stderr: `error: ${message}\n` });
  expect(contents()).toEqual(before);
}

const user = process.geteuid?.() ?? 0;
const advice = (path: string): string =>
  `user ${user} cannot read and write ${path}. Make the service's user its owner, and run commands as that user`;

describe('the message names the file and what to do if', () => {
  test.each(NAMES)('%s is not readable', async (name) => {
    const file = join(folder, name);
    chmodSync(file, 0o000);
    await expectRefused(`${file} cannot be used: ${advice(file)}`);
  });

  test('the folder is not accessible', async () => {
    chmodSync(folder, 0o600);
    await expectRefused(`${catalog} cannot be used: ${advice(folder)}`);
  });

  test('the folder is not writable, and there is no WAL yet', async () => {
    chmodSync(folder, 0o555);
    await expectRefused(
      `${catalog} cannot be used: ${advice(folder)}. SQLite creates its WAL beside the file, even to read`,
    );
  });

  test('the folder and its parent are missing', async () => {
    const path = join(folder, 'not', 'mounted', 'pds.sqlite');
    await expectRefused(
      `the folder of the database ${path} does not exist: check PDS_DATABASE_URL and that the disk is mounted, or create the folder`,
      path,
    );
  });

  test('the path is a folder', async () => {
    mkdirSync(join(folder, 'inner.sqlite'));
    mkdirSync(join(folder, 'inner.access.sqlite'));
    const path = join(folder, 'inner.sqlite');
    await expectRefused(`${path} is a folder: check PDS_DATABASE_URL`, path);
  });

  test.each(NAMES)('%s is not a database', async (name) => {
    const file = join(folder, name);
    writeFileSync(file, 'This is a letter, and no database, however long one looks at it.\n'.repeat(100));
    await expectRefused(`${file} is not a SQLite database: check PDS_DATABASE_URL. Nothing was changed`);
  });

  test("it is another program's database", async () => {
    const path = join(folder, 'other.sqlite');
    for (const file of [path, join(folder, 'other.access.sqlite')]) {
      const other = new DatabaseSync(file);
      other.exec('pragma journal_mode = wal; create table bookmarks (url text)');
      other.close();
    }
    await expectRefused(
      "the catalog of the database holds another service's tables: check PDS_DATABASE_URL. Nothing was changed",
      path,
    );
  });

  test.each(NAMES)('%s was truncated', async (name) => {
    const file = join(folder, name);
    truncateSync(file, 30_000);
    await expectRefused(
      `${file} is damaged (database disk image is malformed): stop the service, and restore both files of the database from a backup`,
    );
  });

  test('the catalog was truncated to nothing', async () => {
    truncateSync(catalog, 0);
    const { code, stderr } = await run(['partner', 'list']);
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr:
        'error: the database has lost its catalog, the published records: restore all of it from a backup. Nothing was changed\n',
    });
  });

  test('the access file was truncated to nothing', async () => {
    truncateSync(access, 0);
    for (const words of [['partner', 'list'], ['serve']]) {
      const { code, stderr } = await run(words);
      expect({ code, stderr }).toEqual({
        code: 1,
        stderr:
          'error: the database has lost its access, the partners and keys: restore all of it from a backup. Nothing was changed\n',
      });
    }
  });

  test.each([
    { missing: NAMES[0], kept: NAMES[1] },
    { missing: NAMES[1], kept: NAMES[0] },
  ])('$missing is missing while $kept is there', async ({ missing, kept }) => {
    rmSync(join(folder, missing));
    await expectRefused(
      `${join(folder, missing)} is missing, but ${join(folder, kept)}, which belongs to it, exists: put it back, or ` +
        'restore both from a backup; to start over, move the other one away too. Nothing was created',
    );
  });

  test('pages of the catalog were overwritten: an import fails, and writes nothing', async () => {
    overwriteTable(catalog, 'solicitations');
    using stack = new DisposableStack();
    const directory = mkdtempSync(join(tmpdir(), 'pds-import-'));
    stack.defer(() => rmSync(directory, { recursive: true }));
    const changed = Array.from({ length: 400 }, (_, index) => ({
      ...solicitation(`sol_${index}`, index + 1),
      title: 'Changed',
    }));
    writeFileSync(join(directory, 'solicitations.ndjson'), changed.map((line) => `${JSON.stringify(line)}\n`).join(''));
    const before = readFileSync(catalog, 'base64');
    const { code, stderr } = await run(['import', directory]);
    expect(code).toBe(1);
    expect(stderr).toMatch(
      new RegExp(
        `^error: ${catalog} or ${access} is damaged \\(.*malformed.*\\): stop the service, and restore both files`,
        'm',
      ),
    );
    expect(readFileSync(catalog, 'base64') === before).toBe(true);
  });

  test.each(NAMES)('%s is read-only: writing fails, reading does not', async (name) => {
    const file = join(folder, name);
    chmodSync(file, 0o444);
    expect((await run(['partner', 'list'])).stdout).toContain('acme');
    const words = name === NAMES[0] ? ['import', emptyImport()] : ['partner', 'create', 'beta'];
    expect(await run(words)).toEqual({
      code: 1,
      stdout: '',
      stderr: `error: ${file} cannot be used: ${advice(file)}\n`,
    });
    expect((await run(['partner', 'list'])).stdout).not.toContain('beta');
  });

  test.skipIf(NO_DISK !== null)(`the disk is mounted read-only ${NO_DISK ?? ''}`, async () => {
    using stack = new DisposableStack();
    const disk = mountSmallDisk(8);
    stack.defer(() => disk.remove());
    copyInto(disk.folder);
    execFileSync('mount', ['-o', 'remount,ro', disk.folder]);
    await expectRefused(`${catalog} cannot be used: the disk of ${catalog} is mounted read-only`);
  });
});

function emptyImport(): string {
  const directory = join(folder, 'import');
  mkdirSync(directory);
  writeFileSync(join(directory, 'coops.ndjson'), '{"id":"co_y","name":"Coop Y"}\n');
  return directory;
}

/** Overwrites the pages that hold the rows of a table. */
function overwriteTable(path: string, table: string): void {
  const database = new DatabaseSync(path);
  const pages = database
    .prepare(`select pgoffset, pgsize from dbstat where name = ? and pagetype = 'leaf'`)
    .all(table) as { pgoffset: number; pgsize: number }[];
  database.close();
  const file = openSync(path, 'r+');
  for (const { pgoffset, pgsize } of pages) writeSync(file, Buffer.alloc(pgsize, 0xa5), 0, pgsize, pgoffset);
  closeSync(file);
}
