import { once } from 'node:events';
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { sql } from 'kysely';
import { describe, expect, inject, test } from 'vitest';
import { createPartner } from '../../src/access/partner-admin.ts';
import { program } from '../../src/commands/program.ts';
import { migrate } from '../../src/database/migrations/migrator.ts';
import { openForCommands } from '../../src/database/open.ts';
import { discarderOf } from '../../src/recovery/unused-database.ts';
import { createEmptyDatabase, createTestDatabase, type TestDatabase } from '../support/database.ts';
import { findFreePort } from '../support/free-port.ts';
import { forAllTests } from '../support/lifetimes.ts';
import { newFolder } from '../support/new-folder.ts';
import { SMALL_CATALOG, withImportDirectory } from '../support/publishing.ts';
import { callPds, commandsOf } from './call-pds.ts';
import { databaseUrlOf, runPds } from './run-pds.ts';

/** The folder and the settings with which a form of a command is run. */
interface Place {
  /** Contains only `empty/`, `sample/` and `bad/`, and is also the folder for temporary files. */
  readonly folder: string;
  readonly settings: Readonly<Record<string, string>>;
}

interface Form {
  /** `SAMPLE`, `BAD` and `EMPTY` are folders of the place, `NONE` a missing one, `USED` a port in use. */
  readonly line: string;
  readonly code: 0 | 1 | 2;
  /** The expected stderr, on both engines. */
  readonly says?: RegExp;
  readonly settings?: Readonly<Record<string, string>>;
}

const engine = inject('engine');

const NO_DATABASE = /there is no database .*|the database \S+ is empty/;
const NEXT = /create one with "pds import DIR" or "pds migrate"\. Nothing was created$/m;

/** A command that needs an existing database. */
const needsDatabase = (...lines: string[]): Form[] => lines.map((line) => ({ line, code: 1, says: NEXT }));
const wrongUsage = (...lines: string[]): Form[] => lines.map((line) => ({ line, code: 2, says: /^(error: |Usage: )/ }));
const NO_BACKUP = engine === 'sqlite' ? /nothing to back up/ : /pg_dump.*pg_basebackup/;

/** Every command in the forms that only read, or that fail without a database. */
const FORMS: Readonly<Record<string, readonly Form[]>> = {
  serve: [
    ...wrongUsage('serve --workers 2', 'serve --port x', 'serve --port 80000'),
    {
      line: 'serve --demo',
      code: 1,
      says: /requires PDS_ENVIRONMENT=dev/,
      settings: { PDS_ENVIRONMENT: 'production' },
    },
    {
      line: 'serve',
      code: 1,
      says: /cannot both use 127\.0\.0\.1:8080\. Choose another with PDS_PORT \(or --port\) or PDS_ADMIN_PORT/,
      settings: { PDS_ADMIN_PORT: '8080', PDS_PORT: '8080' },
    },
    {
      line: 'serve --admin-port USED',
      code: 1,
      says: /^error: cannot open the port of the admin server: .*already in use .*PDS_ADMIN_PORT \(or --admin-port\)/m,
    },
    { line: 'serve --port USED', code: 1, says: /^error: cannot open the port of the API: .*already in use/m },
  ],
  migrate: wrongUsage('migrate now', 'migrate --dry-run'),
  import: [
    ...wrongUsage('import', 'import SAMPLE --allow-removals', 'import SAMPLE --show=5', 'import SAMPLE --dry-run'),
    { line: 'import NONE', code: 1, says: /NONE|none/ },
    { line: 'import EMPTY', code: 1, says: /contains no import file/ },
    {
      line: 'import BAD',
      code: 1,
      says: /^coops\.ndjson:1: [^]*\nerror: import rejected with 1 problem; nothing was written\n$/,
    },
    { line: 'import SAMPLE', code: 1, settings: { PDS_PORT: 'x' } },
  ],
  diff: [
    ...wrongUsage('diff', 'diff SAMPLE --show -1', 'diff SAMPLE --dry-run'),
    { line: 'diff NONE', code: 2, says: /NONE|none/ },
    { line: 'diff BAD', code: 2, says: /import rejected with 1 problem; nothing was written\n$/ },
    { line: 'diff SAMPLE', code: 1, says: /^There is no database yet/ },
    { line: 'diff SAMPLE', code: 2, settings: { PDS_PORT: 'x' } },
  ],
  export: [...wrongUsage('export'), ...needsDatabase('export EMPTY', 'export EMPTY/export')],
  'convert ocds': [
    ...wrongUsage('convert ocds', 'convert ocds BAD/coops.ndjson', 'convert ocds NONE --out OUT --contracts all'),
    { line: 'convert ocds NONE --out EMPTY/out', code: 1, says: /cannot be read/ },
    { line: 'convert ocds BAD/coops.ndjson --out EMPTY/out', code: 1, says: /nothing was written/ },
  ],
  'convert csv': [
    { line: 'convert csv --out EMPTY/out', code: 1, says: /pass --map and --out/ },
    { line: 'convert csv --map NONE --out EMPTY/out', code: 1, says: /cannot be read/ },
    { line: 'convert csv --sketch NONE', code: 1, says: /cannot be read/ },
  ],
  'partner create': [
    ...wrongUsage('partner create', 'partner create a b'),
    { line: 'partner create a/b', code: 1, says: /1 to 64 letters/ },
  ],
  'partner list': needsDatabase('partner list', 'partner list --json'),
  'partner show': needsDatabase('partner show acme'),
  'partner suspend': needsDatabase('partner suspend acme'),
  'partner resume': needsDatabase('partner resume acme'),
  'partner rename': [...wrongUsage('partner rename acme'), ...needsDatabase('partner rename acme bolt')],
  'partner delete': [...wrongUsage('partner delete acme'), ...needsDatabase('partner delete acme --yes')],
  'partner grant': [...wrongUsage('partner grant acme'), ...needsDatabase('partner grant acme --everything')],
  'partner revoke': [...wrongUsage('partner revoke acme'), ...needsDatabase('partner revoke acme --everything')],
  'partner set': [
    ...wrongUsage('partner set acme', 'partner set acme --kinds contract', 'partner set acme --per-minute 1e3'),
    ...needsDatabase('partner set acme --kinds all'),
  ],
  find: [...wrongUsage('find coop', 'find supplier acme'), ...needsDatabase('find coop acme', 'find coop acme --json')],
  explain: [
    ...wrongUsage('explain acme contracts', 'explain acme contract ctr_1'),
    { line: 'explain acme contracts ctr_1', code: 2, says: NEXT },
  ],
  'key issue': [
    ...wrongUsage(...['0d', '5', '99999d'].map((span) => `key issue acme --expires-in ${span}`)),
    ...needsDatabase('key issue acme'),
  ],
  'key list': [...wrongUsage('key list --expiring x'), ...needsDatabase('key list', 'key list acme --expiring 30d')],
  'key rotate': [
    ...wrongUsage('key rotate abcdefgh --overlap x', 'key rotate abcdefgh --overlap -1h'),
    ...needsDatabase('key rotate abcdefgh'),
  ],
  'key find': [{ line: 'key find', code: 2, says: NEXT }],
  'key revoke': needsDatabase('key revoke abcdefgh'),
  backup: [
    ...wrongUsage('backup'),
    { line: 'backup NONE/backup', code: 1, says: NO_BACKUP },
    { line: 'backup EMPTY', code: 1, says: NO_BACKUP },
  ],
  restore: [...wrongUsage('restore'), { line: 'restore NONE', code: 1 }, { line: 'restore SAMPLE', code: 1 }],
  recover: [
    ...wrongUsage('recover --after x', 'recover', 'recover --nothing-lost --after 2026-01-01T00:00:00Z'),
    ...needsDatabase('recover --yes', 'recover --nothing-lost'),
  ],
  releases: [...wrongUsage('releases --limit 0'), ...needsDatabase('releases', 'releases --json')],
  rollback: [...wrongUsage('rollback one'), ...needsDatabase('rollback --yes', 'rollback 1 --yes')],
  audit: [...wrongUsage('audit --days 0'), ...needsDatabase('audit', 'audit --partner acme')],
  reindex: [...wrongUsage('reindex all'), ...needsDatabase('reindex')],
  config: [
    ...wrongUsage('config all'),
    { line: 'config', code: 0 },
    { line: 'config', code: 1, settings: { PDS_PORT: 'x' } },
    { line: '--config NONE config', code: 1, says: /none cannot be read: ENOENT.*Correct --config/ },
    { line: 'import SAMPLE --config BAD/coops.ndjson', code: 1, says: /coops\.ndjson:1: expected NAME=VALUE/ },
  ],
  check: [...wrongUsage('check all'), { line: 'check', code: 0 }, { line: 'check --full', code: 0 }],
  usage: [...wrongUsage('usage --days 1.5'), ...needsDatabase('usage', 'usage acme')],
  roles: needsDatabase('roles'),
  transfer: [...wrongUsage('transfer'), ...needsDatabase('transfer postgres://127.0.0.1:1/pds')],
  completion: [...wrongUsage('completion', 'completion powershell'), { line: 'completion bash', code: 0 }],
  complete: [{ line: 'complete -- partner gr', code: 0 }],
};

const otherServer = forAllTests(async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server;
});

test('every command is listed in this file', () => {
  expect(Object.keys(FORMS).toSorted()).toEqual(commandsOf(program).toSorted());
});

describe('a command that only reads or fails creates no file, folder, schema or table:', () => {
  test.each(Object.entries(FORMS))('%s', { timeout: 120_000 }, async (_, forms) => {
    for (const form of forms) await tryOut(form);
  });
});

test('a command that fails leaves an existing database unchanged', async () => {
  await using made = await createTestDatabase();
  const rows = () => made.database.kysely.selectFrom('access.events').selectAll().execute();
  const before = await rows();
  for (const line of ['partner create a/b', 'import /nowhere', 'key issue nobody'])
    expect((await callPds(line.split(' '), made.settings)).code, line).toBe(1);
  expect(await rows()).toEqual(before);
});

/** Runs a form of a command without a database, and asserts that it created nothing. */
async function tryOut({ line, code, says, settings = {} }: Form): Promise<void> {
  await withPlace(async ({ folder, settings: common }, readSchemas) => {
    const words = line.split(' ').map((word) =>
      word
        .replace('SAMPLE', join(folder, 'sample'))
        .replace('BAD', join(folder, 'bad'))
        .replace('USED', String((otherServer.address() as AddressInfo).port))
        .replace('EMPTY', join(folder, 'empty'))
        .replace('NONE', join(folder, 'none')),
    );
    const before = { files: treeOf(folder), schemas: await readSchemas() };
    const outcome = await (words[0] === 'serve' ? runPds : callPds)(words, { ...common, ...settings });
    expect({ line, code: outcome.code, outcome }).toMatchObject({ line, code });
    if (code === 2) expect(outcome.stdout).toBe('');
    if (says === NEXT) expect(outcome.stderr).toMatch(NO_DATABASE);
    if (says !== undefined) expect(outcome.stderr).toMatch(says);
    expect({ line, files: treeOf(folder), schemas: await readSchemas() }).toEqual({ line, ...before });
  });
}

async function withPlace(work: (place: Place, readSchemas: () => Promise<string[]>) => Promise<void>): Promise<void> {
  const folder = newFolder();
  await using empty = engine === 'postgres' ? await createEmptyDatabase() : null;
  mkdirSync(join(folder, 'empty'));
  mkdirSync(join(folder, 'sample'));
  writeFileSync(join(folder, 'sample', 'coops.ndjson'), `${JSON.stringify(SMALL_CATALOG.coops[0])}\n`);
  mkdirSync(join(folder, 'bad'));
  writeFileSync(join(folder, 'bad', 'coops.ndjson'), `${JSON.stringify({ id: 'co_1' })}\n`);
  const url = empty === null ? `sqlite:${join(folder, 'data', 'pds.sqlite')}` : databaseUrlOf(empty.config);
  const port = String(await findFreePort());
  const settings = { PDS_DATABASE_URL: url, PDS_PORT: port, PDS_ADMIN_PORT: '0', TMPDIR: folder };
  await work({ folder, settings }, () => schemasOf(empty));
}

function treeOf(folder: string): string[] {
  return (readdirSync(folder, { recursive: true }) as string[]).toSorted();
}

/** The schemas and the names of their relations. */
async function schemasOf(empty: TestDatabase | null): Promise<string[]> {
  if (empty === null) return [];
  const { rows } = await sql<{ name: string }>`
    select nspname as name from pg_catalog.pg_namespace where nspname !~ '^pg_'
    union all select nspname || '.' || relname from pg_catalog.pg_class
      join pg_catalog.pg_namespace on pg_namespace.oid = relnamespace
      where nspname !~ '^pg_' and nspname <> 'information_schema'`.execute(empty.database.kysely);
  return rows.map(({ name }) => name).toSorted();
}

test('pds diff without a database reports what an import into an empty one would do', async () => {
  await withImportDirectory(SMALL_CATALOG, async (directory) => {
    await withPlace(async ({ settings }) => {
      const { code, stdout, stderr } = await callPds(['diff', directory, '--json'], settings);
      expect({ code, stderr }).toMatchObject({ code: 1, stderr: expect.stringContaining('no database yet') as string });
      expect(JSON.parse(stdout)).toMatchObject({
        dry_run: true,
        published_at: null,
        kinds: { coops: { added: 1 }, 'lead-entities': { added: 2 } },
      });
    });
  });
});

test('a refused import leaves a database in which another process has created a partner meanwhile', async () => {
  await using made = await createEmptyDatabase();
  const discard = discarderOf(made.config);
  await made.database.close();
  await using database = openForCommands(made.config);
  await migrate(database, Date.now);
  await createPartner(database, Date.now, 'acme', { everything: true });
  await database.close();
  await discard();
  expect((await runPds(['partner', 'list'], made.settings)).stdout).toContain('acme');
});
