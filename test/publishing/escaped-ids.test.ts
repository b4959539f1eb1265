import { expect, test } from 'vitest';
import { createTestDatabase } from '../support/database.ts';
import { publishLines, SMALL_CATALOG, supplier } from '../support/publishing.ts';

test('a line whose id is written with escapes is imported under the id that it means, and once', async () => {
  await using made = await createTestDatabase();
  const line = JSON.stringify(supplier('sup_zoe')).replace('sup_zoe', String.raw`sup_\u007aoe`);
  await publishLines(made.database, SMALL_CATALOG);
  const { kinds } = await publishLines(made.database, { suppliers: [line] });
  expect(kinds.suppliers?.added).toBe(1);
  const stored = await made.database.kysely
    .selectFrom('catalog.suppliers')
    .selectAll()
    .where('id', '=', 'sup_zoe')
    .execute();
  expect(stored.map(({ document }) => document)).toEqual([expect.stringContaining('"id":"sup_zoe"')]);
  expect((await publishLines(made.database, { suppliers: [line] })).timestamp).toBeNull();
});
