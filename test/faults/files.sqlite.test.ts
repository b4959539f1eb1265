import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
  writeSync,
  closeSync,
} from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { migrate } from '../../src/database/migrations/migrator.ts';
import { openForCommands } from '../../src/database/open.ts';
import { makePartner } from '../support/partners.ts';
import { publishLines, SMALL_CATALOG, solicitation, withImportDirectory } from '../support/publishing.ts';
import { runPdsThrough, type Outcome } from '../commands/run-pds.ts';
import { listCatalogFiles } from '../../src/database/sqlite/file-names.ts';
import { newFolder } from '../support/new-folder.ts';
import { AS_ORDINARY_USER } from './ordinary-user.ts';
import { mountSmallDisk, whyNoSmallDisk } from './small-disk.ts';

const KINDS = ['the log', 'the catalog'] as const;
const NO_DISK = whyNoSmallDisk();
const MANY = Array.from({ length: 400 }, (_, index) => solicitation(`sol_${index}`, index + 1));

/** An intact, closed database: each test damages a copy of it. */
const good = newFolder();
let folder: string;
let catalog: string;
let log: string;

beforeAll(async () => {
  await using database = openForCommands({ engine: 'sqlite', path: join(good, 'pds.sqlite') });
  await migrate(database, Date.now);
  await publishLines(database, { ...SMALL_CATALOG, solicitations: MANY });
  await makePartner(database, Date.now, { name: 'acme', everything: true });
});

beforeEach(() => {
  folder = newFolder();
  copyInto(folder);
});
afterEach(() => {
  chmodSync(folder, 0o755);
});

function copyInto(target: string): void {
  for (const name of readdirSync(good)) copyFileSync(join(good, name), join(target, name));
  log = join(target, 'pds.sqlite');
  [catalog = ''] = listCatalogFiles(log);
}

const fileOf = (kind: (typeof KINDS)[number]): string => (kind === 'the log' ? log : catalog);

/** The bytes of every file in the folder, by name. */
function contents(): Record<string, string> {
  const files = readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isFile());
  return Object.fromEntries(files.map(({ name }) => [name, readFileSync(join(folder, name), 'base64')]));
}

function run(words: string[], path = log): Promise<Outcome> {
  const settings = { PDS_DATABASE_URL: `sqlite:${path}`, PDS_PORT: '0', PDS_ADMIN_PORT: '0' };
  return runPdsThrough(AS_ORDINARY_USER, words, settings);
}

/** Asserts that a command and the service exit with 1 and exactly this message, and change nothing in the folder. */
async function expectRefused(message: string, path = log): Promise<void> {
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
  test.each(KINDS)('%s is not readable', async (kind) => {
    const file = fileOf(kind);
    chmodSync(file, 0o000);
    await expectRefused(`${file} cannot be used: ${advice(file)}`);
  });

  test('the folder is not accessible', async () => {
    chmodSync(folder, 0o600);
    await expectRefused(`${log} cannot be used: ${advice(folder)}`);
  });

  test('the folder is not writable, and there is no WAL yet', async () => {
    chmodSync(folder, 0o555);
    await expectRefused(
      `${log} cannot be used: ${advice(folder)}. SQLite creates its WAL beside the file, even to read`,
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
    const path = join(folder, 'inner.sqlite');
    await expectRefused(`${path} is a folder: check PDS_DATABASE_URL`, path);
  });

  test.each(KINDS)('%s is not a database', async (kind) => {
    const file = fileOf(kind);
    writeFileSync(file, 'This is a letter, and no database, however long one looks at it.\n'.repeat(100));
    await expectRefused(`${file} is not a SQLite database: check PDS_DATABASE_URL. Nothing was changed`);
  });

  test("it is another program's database", async () => {
    const path = join(folder, 'other.sqlite');
    const other = new DatabaseSync(path);
    other.exec('pragma journal_mode = wal; create table bookmarks (url text)');
    other.close();
    await expectRefused(
      "the access of the database holds another service's tables: check PDS_DATABASE_URL. Nothing was changed",
      path,
    );
  });

  test('the log was truncated', async () => {
    truncateSync(log, 30_000);
    await expectRefused(`${log} is damaged (database disk image is malformed): stop the service, and restore a backup`);
  });

  test.each([
    ['is empty', (): void => truncateSync(log, 0)],
    ['is missing', (): void => rmSync(log)],
  ])('the log %s', async (state, change) => {
    change();
    await expectRefused(
      `${log} ${state}, but ${catalog}, which belongs to it, exists: put it back, or restore a backup; to start over, ` +
        'move the other one away too. Nothing was created',
    );
  });

  test('the catalog is missing', async () => {
    rmSync(catalog);
    await expectRefused(
      `${catalog}, the current catalog of ${log}, is missing: put it back, run "pds rollback", or restore a backup`,
    );
  });

  test('pages of the catalog were overwritten: an import fails, and writes nothing', async () => {
    overwriteTable(catalog, 'solicitations');
    const changed = MANY.map((line) => ({ ...line, title: 'Changed' }));
    const before = readFileSync(catalog, 'base64');
    const { code, stderr } = await withImportDirectory({ solicitations: changed }, (directory) =>
      run(['import', directory]),
    );
    expect(code).toBe(1);
    expect(stderr).toMatch(
      new RegExp(
        `^error: ${log} or its catalog is damaged \\(.*malformed.*\\): stop the service, and restore a backup`,
        'm',
      ),
    );
    expect(readFileSync(catalog, 'base64') === before).toBe(true);
  });

  test('the log is read-only: writing fails, reading does not', async () => {
    chmodSync(log, 0o444);
    expect((await run(['partner', 'list'])).stdout).toContain('acme');
    expect(await run(['partner', 'create', 'beta'])).toEqual({
      code: 1,
      stdout: '',
      stderr: `error: ${log} cannot be used: ${advice(log)}\n`,
    });
    expect((await run(['partner', 'list'])).stdout).not.toContain('beta');
  });

  test.skipIf(NO_DISK !== null)(`the disk is mounted read-only ${NO_DISK ?? ''}`, async () => {
    using stack = new DisposableStack();
    const disk = mountSmallDisk(8);
    stack.defer(() => disk.remove());
    copyInto(disk.folder);
    execFileSync('mount', ['-o', 'remount,ro', disk.folder]);
    await expectRefused(`${log} cannot be used: the disk of ${log} is mounted read-only`);
  });
});

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
