import { chmodSync, copyFileSync, mkdirSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { listCatalogFiles } from '../../src/database/sqlite/file-names.ts';
import { SqliteConnection } from '../../src/database/sqlite/sqlite-files.ts';
import { AS_ORDINARY_USER } from '../faults/ordinary-user.ts';
import { mountSmallDisk, whyNoSmallDisk } from '../faults/small-disk.ts';
import { publishLines, SMALL_CATALOG } from '../support/publishing.ts';
import { createSqliteFiles, overwritePage, type SqliteFiles } from '../support/sqlite-files.ts';
import { runCheck, testProblems } from './check-contract.ts';
import { runPds } from './run-pds.ts';

const NO_DISK = whyNoSmallDisk();

interface Files extends SqliteFiles {
  /** The current catalog, once there is one. */
  readonly catalog: () => string;
}

function noFiles(stack: AsyncDisposableStack): Files {
  const made = createSqliteFiles();
  stack.defer(() => made.remove());
  return { ...made, catalog: () => listCatalogFiles(made.path)[0] ?? '' };
}

/** A database with records that no process has open, after `change`. */
async function files(stack: AsyncDisposableStack, change: (made: Files) => unknown): Promise<Files> {
  const made = noFiles(stack);
  await made.use((database) => publishLines(database, SMALL_CATALOG));
  await change(made);
  return made;
}

testProblems([
  {
    name: 'that there are no files',
    reports: ['warn|database: DIR/data/pds.sqlite does not exist yet'],
    cause: noFiles,
  },
  {
    name: 'that there are no files in a folder',
    reports: ['warn|database: DIR/data/pds.sqlite does not exist yet'],
    cause: (stack) => {
      const setup = noFiles(stack);
      mkdirSync(dirname(setup.path));
      return setup;
    },
  },
  {
    name: 'nothing about a database that opening for writing would convert',
    reports: [],
    cause: (stack) =>
      files(stack, ({ path }) => {
        using connection = new SqliteConnection(path);
        connection.exec('pragma journal_mode = delete');
      }),
  },
  {
    name: 'a missing parent folder, as of a disk that is not mounted',
    reports: [/^fail\|database: the folder of the database DIR.* does not exist/],
    cause: (stack) => {
      const { folder } = noFiles(stack);
      return { folder, settings: { PDS_DATABASE_URL: `sqlite:${join(folder, 'disk', 'data', 'pds.sqlite')}` } };
    },
  },
  {
    name: 'that the file with partners and keys is missing',
    reports: [/^fail\|database: DIR\/data\/pds\.sqlite is missing, but .*pds\.catalog-1-/],
    cause: (stack) => files(stack, ({ path }) => rmSync(path)),
  },
  {
    name: 'that the current catalog is missing',
    reports: [/^fail\|database: DIR\/data\/pds\.catalog-1-.*, the current catalog of .*, is missing/],
    cause: (stack) => files(stack, ({ catalog }) => rmSync(catalog())),
  },
  {
    name: 'a file that no release names',
    reports: [/^warn\|files: no release names pds\.catalog-2-0123456789abcdef\.sqlite/],
    cause: (stack) =>
      files(stack, ({ path, catalog }) =>
        copyFileSync(catalog(), join(dirname(path), 'pds.catalog-2-0123456789abcdef.sqlite')),
      ),
  },
  {
    name: 'a read-only file',
    reports: [/^fail\|database: DIR\/data\/pds\.sqlite cannot be used: user \d+ cannot read and write/],
    cause: async (stack) => ({
      ...(await files(stack, ({ path }) => chmodSync(path, 0o400))),
      launcher: AS_ORDINARY_USER,
    }),
  },
  {
    name: 'a read-only folder',
    reports: [/^fail\|database: DIR\/data\/pds\.sqlite cannot be used: user \d+ cannot read and write/],
    cause: async (stack) => {
      const setup = await files(stack, ({ path }) => chmodSync(dirname(path), 0o500));
      stack.defer(() => chmodSync(dirname(setup.path), 0o700));
      return { ...setup, launcher: AS_ORDINARY_USER };
    },
  },
  {
    name: 'a file that is not a database',
    reports: [/^fail\|database: DIR\/data\/pds\.sqlite is not a SQLite database/],
    cause: (stack) => files(stack, ({ path }) => writeFileSync(path, 'not a database, but long enough to be read')),
  },
]);

test('pds check and check --full report a file with an overwritten page', async () => {
  await using stack = new AsyncDisposableStack();
  const { settings, catalog } = await files(stack, ({ catalog: path }) =>
    // Neither the import nor the check of the index reads it.
    overwritePage(path(), 'contract_suppliers_by_contract_id'),
  );
  const damaged = expect.stringContaining(`FAIL  files: ${catalog()} is damaged: `) as string;
  for (const words of [['check'], ['check', '--full']]) {
    expect(await runPds(words, settings)).toMatchObject({ code: 1, stdout: damaged });
  }
});

test.skipIf(NO_DISK !== null).each([
  { left: 'too little for an import', leftBytes: 1_500_000, code: 0, finding: /^warn\|disk: 1\.\d MB free/ },
  { left: 'too little for a revocation', leftBytes: 256 * 1024, code: 1, finding: /^fail\|disk: 0\.\d MB free/ },
])(`pds check reports a disk with $left ${NO_DISK ?? ''}`, async ({ leftBytes, ...expected }) => {
  await using stack = new AsyncDisposableStack();
  const disk = mountSmallDisk(4);
  stack.defer(() => disk.remove());
  const path = join(disk.folder, 'pds.sqlite');
  await files(stack, (made) => {
    copyFileSync(made.path, path);
    const catalog = join(disk.folder, basename(made.catalog()));
    copyFileSync(made.catalog(), catalog);
    truncateSync(catalog, 2_000_000);
  });
  disk.fill(leftBytes);
  const { code, troubles } = await runCheck({ settings: { PDS_DATABASE_URL: `sqlite:${path}` } });
  expect({ code, troubles }).toEqual({
    code: expected.code,
    troubles: [expect.stringMatching(expected.finding)],
  });
});
