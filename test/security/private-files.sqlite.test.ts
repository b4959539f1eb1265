import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { runPdsThrough } from '../commands/run-pds.ts';
import { openForCommands } from '../../src/database/open.ts';
import { makePrivateFile } from '../../src/database/sqlite/sqlite-files.ts';
import { newFolder } from '../support/new-folder.ts';
import { SMALL_CATALOG, withImportDirectory } from '../support/publishing.ts';

/** Some systems' shells create files that everyone can access. */
const OPEN_TO_ALL = ['sh', '-c', 'umask 000; exec "$0" "$@"'];

function modesIn(folder: string): Record<string, string> {
  const names = readdirSync(folder).sort();
  return Object.fromEntries(names.map((name) => [name, (statSync(join(folder, name)).mode & 0o777).toString(8)]));
}

test('only the owner can read the file of keys and grants, its write-ahead logs and the catalogs, whatever the umask', async () => {
  const folder = newFolder();
  const path = join(folder, 'data', 'pds.sqlite');
  const settings = { PDS_DATABASE_URL: `sqlite:${path}` };
  // The first catalog is created, the second is a copy.
  for (const coops of [[], [{ id: 'co_new', name: 'New' }]]) {
    await withImportDirectory({ ...SMALL_CATALOG, coops: [...SMALL_CATALOG.coops, ...coops] }, async (directory) => {
      expect(await runPdsThrough(OPEN_TO_ALL, ['import', directory], settings)).toMatchObject({ code: 0 });
    });
  }
  // Its logs exist while it is open.
  await using database = openForCommands({ engine: 'sqlite', path });
  await database.kysely.insertInto('access.settings').values({ name: 'unused', value: '' }).execute();
  const modes = modesIn(join(folder, 'data'));
  expect(Object.keys(modes)).toEqual([
    expect.stringMatching(/^pds\.catalog-1-/),
    expect.stringMatching(/^pds\.catalog-2-/),
    ...['pds.import-lock.sqlite', 'pds.sqlite', 'pds.sqlite-shm', 'pds.sqlite-wal'],
  ]);
  expect(new Set(Object.values(modes))).toEqual(new Set(['600']));
});

test('a private file is private from its creation, and an existing file is left unchanged', () => {
  const folder = newFolder();
  const umask = process.umask(0);
  try {
    makePrivateFile(join(folder, 'file'));
    makePrivateFile(join(folder, 'file'));
    makePrivateFile(join(folder, 'nowhere', 'file'));
    expect(modesIn(folder)).toEqual({ file: '600' });
  } finally {
    process.umask(umask);
  }
});
