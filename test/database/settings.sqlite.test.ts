import { sql } from 'kysely';
import { expect, test } from 'vitest';
import { openForServing } from '../../src/database/open.ts';
import { createDatabaseOf } from '../support/database.ts';
import { publishLines, SMALL_CATALOG } from '../support/publishing.ts';

test('a server caches 64 MiB of the catalog file, in pages of 8 KiB', async () => {
  await using made = await createDatabaseOf('sqlite');
  await publishLines(made.database, SMALL_CATALOG);
  await using serving = openForServing(made.config);
  const read = async (setting: string): Promise<unknown> =>
    Object.values((await sql.raw(`pragma ${setting}`).execute(serving.kysely)).rows[0] ?? {})[0];
  expect(await read('catalog.cache_size')).toBe(-64 * 1024);
  expect(await read('catalog.page_size')).toBe(8_192);
  expect(await read('access.journal_mode')).toBe('wal');
});
