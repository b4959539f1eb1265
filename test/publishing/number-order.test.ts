import fc from 'fast-check';
import { expect, test } from 'vitest';
import { STRIDE } from '../../src/database/renumbering.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { publishLines, SMALL_CATALOG, solicitation, supplier } from '../support/publishing.ts';
import { idsFound } from '../support/search.ts';

const id = fc.stringMatching(/^[A-Za-z0-9_-]{1,3}$/);

test('numbers follow ids and search finds everything, whatever is added, removed and in which order', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(
        fc.record({ add: fc.uniqueArray(id, { maxLength: 12 }), remove: fc.array(fc.nat(50), { maxLength: 4 }) }),
        {
          minLength: 1,
          maxLength: 8,
        },
      ),
      fc.constantFrom(1, 2, 16, STRIDE),
      async (history, stride) => {
        const made = await createTestDatabase();
        try {
          await publishLines(made.database, { ...SMALL_CATALOG, suppliers: [], contracts: [], solicitations: [] });
          const held = new Set<string>();
          for (const { add, remove } of history) {
            const gone = [...new Set(remove.flatMap((place) => [...held][place] ?? []))].filter(
              (key) => !add.includes(key),
            );
            const suppliers = [...add.map(supplier), ...gone.map((key) => ({ id: key, deleted: true }))];
            await publishLines(made.database, { suppliers }, { stride });
            for (const key of add) held.add(key);
            for (const key of gone) held.delete(key);
            await expectOrder(made, held);
          }
        } finally {
          await made.drop();
        }
      },
    ),
    { numRuns: 12 },
  );
}, 120_000);

test('a line that names two ids is refused', async () => {
  const made = await createTestDatabase();
  try {
    const line = JSON.stringify(solicitation('one', 1)).replace('{', '{"id":"two",');
    await expect(publishLines(made.database, { ...SMALL_CATALOG, solicitations: [line] })).rejects.toThrow(
      'solicitations.ndjson:1: id: stands in the line twice',
    );
  } finally {
    await made.drop();
  }
});

async function expectOrder({ database }: TestDatabase, held: ReadonlySet<string>): Promise<void> {
  const byNumber = await database.kysely.selectFrom('catalog.suppliers').select('id').orderBy('number').execute();
  expect(byNumber.map((row) => row.id)).toEqual([...held].sort());
  expect(await idsFound(database, 'suppliers', 'road')).toEqual([...held].sort());
}
