import { expect, test } from 'vitest';
import { rollback } from '../../src/recovery/rollback.ts';
import { callPds } from '../commands/call-pds.ts';
import { createTestDatabase } from '../support/database.ts';
import { publishLines } from '../support/publishing.ts';

test('a rollback changes nothing, and says what to do instead', async () => {
  await using made = await createTestDatabase();
  const { database } = made;
  for (const name of ['A', 'B']) await publishLines(database, { coops: [{ id: 'co_x', name }] });
  await expect(rollback(database, { clock: Date.now })).rejects.toThrow(/pds export.*--replace/);
  const outcome = await callPds(['rollback', '--yes'], made.settings);
  expect(outcome).toMatchObject({ code: 1, stderr: expect.stringContaining('pds export') as string });
  expect(await database.kysely.selectFrom('catalog.coops').select('name').executeTakeFirst()).toEqual({ name: 'B' });
});
