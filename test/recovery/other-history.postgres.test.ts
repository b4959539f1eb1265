import { expect, test } from 'vitest';
import { readTimeline, readRecordedTimeline } from '../../src/database/postgres/timeline.ts';
import { recover } from '../../src/recovery/recover.ts';
import { databaseUrlOf, runPds } from '../commands/run-pds.ts';
import { createTestDatabase } from '../support/database.ts';
import { publishLines } from '../support/publishing.ts';

test('commands warn that the server is on another timeline until pds recover has been run', async () => {
  const made = await createTestDatabase();
  const { config, database } = made;
  const settings = { PDS_DATABASE_URL: databaseUrlOf(config) };
  await recover(database, { clock: Date.now });
  expect(await readRecordedTimeline(database)).toBe(await readTimeline(database));
  expect((await runPds(['partner', 'list'], settings)).stderr).toBe('');

  await database.kysely
    .updateTable('access.settings')
    .set({ value: 'another' })
    .where('name', '=', 'history')
    .execute();
  const warned = await runPds(['partner', 'list'], settings);
  expect(warned.code).toBe(0);
  expect(warned.stderr).toContain('pds recover');
  // An import does not clear the warning: clients still do not know what was lost before it.
  await publishLines(database, { coops: [{ id: 'co_y', name: 'Coop Y' }] });
  expect((await runPds(['partner', 'list'], settings)).stderr).toContain('pds recover');
  expect((await runPds(['recover', '--yes'], settings)).stderr).not.toContain('warning:');
  expect((await runPds(['partner', 'list'], settings)).stderr).toBe('');
  await made.drop();
});
