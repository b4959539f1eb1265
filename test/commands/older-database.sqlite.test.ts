import { copyFileSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { once } from 'node:events';
import { DatabaseSync } from 'node:sqlite';
import { basename, dirname, join } from 'node:path';
import { afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { importDirectory } from '../../src/commands/actions/import.ts';
import { migrateDatabase } from '../../src/commands/actions/database.ts';
import { list } from '../../src/commands/actions/partner.ts';
import { withDatabase } from '../../src/commands/context.ts';
import { program } from '../../src/commands/program.ts';
import { openForCommands, openForServing } from '../../src/database/open.ts';
import { readSchemaState } from '../../src/database/migrations/migrator.ts';
import { backup } from '../../src/recovery/backup.ts';
import type { BackupManifest } from '../../src/recovery/backup-manifest.ts';
import { mountSmallDisk, whyNoSmallDisk } from '../faults/small-disk.ts';
import { createDatabaseOf, databasePathOf } from '../support/database.ts';
import { forAllTests } from '../support/lifetimes.ts';
import { makePartner } from '../support/partners.ts';
import { printedBy } from '../support/printed.ts';
import { publishLines, SMALL_CATALOG, withImportDirectory } from '../support/publishing.ts';
import {
  becomeLaterVersion,
  CURRENT_NUMBERS,
  LATER_SETTINGS,
  SOURCE_MAIN,
  UPGRADE,
} from '../support/schema/later-version.ts';
import { listCatalogFiles } from '../../src/database/sqlite/file-names.ts';
import { newFolder } from '../support/new-folder.ts';
import { startServingOf } from '../support/serving-process.ts';
import { callPds, commandsOf } from './call-pds.ts';
import { databaseUrlOf, runPds } from './run-pds.ts';

/** The commands that refuse a database of the version before, with arguments. This process is the version after this one. */
const REFUSED = [
  ...['partner create acme', 'partner list', 'partner show acme', 'partner suspend acme', 'partner resume acme'],
  ...['partner rename acme bolt', 'partner delete acme --yes', 'partner grant acme --everything'],
  ...['partner revoke acme --everything', 'partner set acme --kinds all', 'find coop x', 'key issue acme', 'key list'],
  ...['key rotate abcdefgh', 'key find', 'key revoke abcdefgh', 'usage', 'audit', 'reindex'],
  ...['explain acme contracts ctr_1'],
  ...['roles', 'transfer postgres://127.0.0.1:1/pds', 'recover --yes', 'recover --nothing-lost', 'diff IMPORT'],
  ...['releases', 'rollback --yes', 'export EXPORT'],
];

/** Those that do not need its schema, or upgrade it. `check` has its own tests; `restore` replaces the database. */
const OTHERS = [
  ...['serve', 'import', 'migrate', 'backup', 'restore', 'check', 'config', 'convert ocds', 'convert csv'],
  ...['completion', 'complete'],
];

const NO_DISK = whyNoSmallDisk();
const COOPS = { coops: [{ id: 'co_1', name: 'Coop' }] };
const OLDER =
  `error: the database's schema is older than this version of the service (pending: ${UPGRADE.join(', ')}). Nothing was ` +
  'changed; run "pds migrate" first\n';

let folder: string;

// Stays open, so that its files have logs, as those of a service that was killed.
const older = forAllTests(() => createDatabaseOf('sqlite'));
const opened = forAllTests(() => new AsyncDisposableStack());
beforeAll(async () => {
  await makePartner(older.database, Date.now, { name: 'acme', everything: true });
  await publishLines(older.database, SMALL_CATALOG);
  NAMES.push(...listCatalogFiles(databasePathOf(older)).map((file) => basename(file)));
  opened.use(becomeLaterVersion());
});

beforeEach(() => {
  folder = newFolder();
  // The database, which commands in this process use.
  for (const name of NAMES) copyFileSync(join(dirname(databasePathOf(older)), name), join(folder, name));
  vi.stubEnv('PDS_DATABASE_URL', `sqlite:${join(folder, 'pds.sqlite')}`);
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
  process.exitCode = 0;
});

const NAMES = ['pds.sqlite', 'pds.sqlite-wal'];

const contents = (): Buffer[] => NAMES.map((name) => readFileSync(join(folder, name)));

const migrate = (isJson = false) =>
  printedBy((output) => withDatabase(output, migrateDatabase, { mayCreate: true, shouldPrepare: false }), isJson);

function backupsIn(place: string): string[] {
  return readdirSync(place).filter((name) => name.startsWith('pds.sqlite.before-upgrade-'));
}

function schemaInBackup(place: string): BackupManifest['schema'] {
  const [backup = ''] = backupsIn(place);
  return (JSON.parse(readFileSync(join(place, backup, 'backup.json'), 'utf8')) as BackupManifest).schema;
}

test('every command is known to refuse an older database, or not to need its schema', () => {
  const known = [...REFUSED, ...OTHERS];
  const others = commandsOf(program).filter((name) => !known.some((line) => `${line} `.startsWith(`${name} `)));
  expect(others).toEqual([]);
});

test.each(REFUSED)('pds %s refuses an older database, names pds migrate, and changes no byte of it', async (line) => {
  const before = contents();
  const stderr: string[] = [];
  vi.spyOn(process.stderr, 'write').mockImplementation((text) => stderr.push(String(text)) > 0);
  await withImportDirectory(COOPS, async (directory) => {
    const words = line.replace('IMPORT', directory).split(' ');
    await program.parseAsync(words, { from: 'user' });
  });
  expect({ code: process.exitCode, stderr: stderr.join('') }).toEqual({
    code: /^(diff|explain|key find)/.test(line) ? 2 : 1,
    stderr: OLDER,
  });
  expect(contents().map((bytes, index) => bytes.equals(before[index] ?? Buffer.of()))).toEqual([true, true, true]);
});

test('every command refuses a database of version 1.3, names version 2.0, and changes no byte of its two files', async () => {
  const former = join(folder, 'former');
  mkdirSync(former);
  const path = join(former, 'pds.sqlite');
  // The catalog had the database's path; partners and keys were beside it.
  for (const [name, table] of [
    ['pds.sqlite', 'publications'],
    ['pds.access.sqlite', 'revisions'],
  ] as const) {
    using connection = new DatabaseSync(join(former, name));
    connection.exec(`pragma journal_mode = wal;
      create table migrations (number bigint primary key, name text not null, applied_at text not null);
      insert into migrations (number, name, applied_at) values (8, 'of version 1.3', '2026-01-01T00:00:00.000Z');
      create table ${table} (number bigint primary key, token text not null)`);
  }
  const target = join(folder, 'backup');
  await backup(join(folder, 'pds.sqlite'), target, { clock: Date.now });
  // A reader leaves SQLite's shared memory.
  const names = () => readdirSync(former).filter((name) => !/-(wal|shm)$/.test(name));
  const tree = () => names().map((name) => [name, readFileSync(join(former, name), 'base64')]);
  const before = tree();
  const settings = { PDS_DATABASE_URL: `sqlite:${path}`, PDS_PORT: '0', PDS_ADMIN_PORT: '0' };
  const refusal = `the schema of ${path} is older than version 2.0: run "pds migrate" with version 2.0 first. Nothing was changed`;
  const others = ['import IMPORT', 'migrate', 'backup NEW', 'check'];
  for (const options of ['', ' --yes', ' --access', ' --access --yes']) others.push(`restore ${target}${options}`);
  await withImportDirectory(COOPS, async (directory) => {
    const run = (line: string) => {
      const words = line.replace('IMPORT', directory).replace('NEW', join(folder, 'new')).split(' ');
      // A start would install the handlers of a service's signals.
      return line === 'serve' ? runPds(words, settings) : callPds(words, settings);
    };
    for (const line of [...REFUSED, ...others, 'serve']) {
      const { code, stdout, stderr } = await run(line);
      expect(code, line).toBe(/^(diff|explain|key find)/.test(line) ? 2 : 1);
      expect(stdout + stderr, line).toContain(refusal);
    }
  });
  expect(tree()).toEqual(before);
});

/** Opens and closes the database: the last connection empties the logs into the files, and removes them. */
const emptyLogs = () => openForCommands({ engine: 'sqlite', path: join(folder, 'pds.sqlite') }).close();

test('a refusal leaves no file beside an older database that no process has open', async () => {
  await emptyLogs();
  const tree = () => readdirSync(folder).map((name) => [name, readFileSync(join(folder, name), 'base64')]);
  const before = tree();
  expect(before).toHaveLength(2);
  await expect(printedBy((output) => withDatabase(output, list))).rejects.toThrow(/run "pds migrate" first$/);
  expect(tree()).toEqual(before);
});

test('pds migrate backs up an older database beside it, which the version before restores with --access', async () => {
  const { migrations, backup } = JSON.parse((await migrate(true)).stdout) as {
    migrations: string[];
    backup: string;
  };
  expect(migrations).toHaveLength(2);
  expect(backup).toBe(join(folder, backupsIn(folder)[0] ?? ''));
  expect(schemaInBackup(folder)).toEqual(CURRENT_NUMBERS);
  // The next run migrates nothing, and so backs up nothing.
  expect((await migrate()).stderr).toBe('The schema is up to date.\n');
  expect(backupsIn(folder)).toHaveLength(1);

  const settings = { PDS_DATABASE_URL: process.env['PDS_DATABASE_URL'] ?? '' };
  const restored = await runPds(['restore', backup, '--access', '--yes'], settings);
  expect(restored, restored.stderr).toMatchObject({ code: 0 });
  const partners = await runPds(['partner', 'list'], settings);
  expect(partners, partners.stderr).toMatchObject({ code: 0 });
});

test('pds import backs up an older database, says where, and imports', async () => {
  const { stderr: text } = await withImportDirectory(COOPS, (directory) =>
    printedBy((output) => importDirectory(output, directory, {})),
  );
  const [backup] = backupsIn(folder);
  expect(text).toContain(
    `Backed up the database before its upgrade, which cannot be undone: ${join(folder, backup ?? '')}\n`,
  );
  expect(text).toMatch(/^1 +0 +0 +0 +coops$/m);
  expect(schemaInBackup(folder)).toEqual(CURRENT_NUMBERS);
});

test('a start backs up an older database, and logs where; one that fails on its port does neither', async () => {
  const config = { engine: 'sqlite', path: join(folder, 'pds.sqlite') } as const;
  await using taken = createServer().listen(0, '127.0.0.1');
  await once(taken, 'listening');
  const port = String((taken.address() as AddressInfo).port);
  const later = { PDS_DATABASE_URL: databaseUrlOf(config), PDS_ADMIN_PORT: '0', ...LATER_SETTINGS };
  const failing = startServingOf(SOURCE_MAIN, { ...later, PDS_PORT: port });
  expect(await failing.exited).toEqual([1, null]);
  expect(backupsIn(folder)).toEqual([]);

  const serving = startServingOf(SOURCE_MAIN, later);
  await serving.port();
  const [backup] = backupsIn(folder);
  expect(serving.output()).toContain(join(folder, backup ?? ''));
  expect(schemaInBackup(folder)).toEqual(CURRENT_NUMBERS);
  serving.kill('SIGTERM');
  await serving.exited;
});

test('a new database is not backed up', async () => {
  vi.stubEnv('PDS_DATABASE_URL', `sqlite:${join(folder, 'new.sqlite')}`);
  expect((await migrate()).stderr).toContain('Ran access ');
  expect(readdirSync(folder).filter((name) => name.includes('before-upgrade'))).toEqual([]);
});

test.skipIf(NO_DISK !== null)(
  `pds migrate refuses a disk without room for the backup and the upgrade, and leaves the schema ${NO_DISK ?? ''}`,
  async () => {
    await using stack = new AsyncDisposableStack();
    const disk = mountSmallDisk(8);
    stack.defer(() => disk.remove());
    await emptyLogs();
    for (const name of readdirSync(folder)) copyFileSync(join(folder, name), join(disk.folder, name));
    vi.stubEnv('PDS_DATABASE_URL', `sqlite:${join(disk.folder, 'pds.sqlite')}`);
    // Room for the backup, but not for the upgrade.
    disk.fill(1_000_000);
    await expect(migrate()).rejects.toThrow(/has room for 0 MB, and the backup takes 1 MB, and the upgrade 1 MB$/);
    expect(readdirSync(disk.folder).filter((name) => name.includes('before-upgrade'))).toEqual([]);
    await using database = openForServing({ engine: 'sqlite', path: join(disk.folder, 'pds.sqlite') });
    expect((await readSchemaState(database)).pending).toHaveLength(2);
  },
);
