import fc from 'fast-check';
import { sql } from 'kysely';
import { expect, test } from 'vitest';
import type { OpenDatabase } from '../../src/database/database.ts';
import { createTestDatabase } from '../support/database.ts';
import { publishLines, SMALL_CATALOG, solicitation } from '../support/publishing.ts';

const PLACES = 12;

const change = fc.record({
  place: fc.nat(PLACES - 1),
  isRemoved: fc.nat(4).map((number) => number === 0),
  lead_entity_id: fc.constantFrom('le_a', 'le_b'),
  status: fc.constantFrom('draft', 'open', 'closed', 'awarded', 'cancelled'),
  close_at: fc.constantFrom(null, '2026-02-28T23:59:59.999Z', '2026-03-01T00:00:00.000Z', '2025-03-01T00:00:00.000Z'),
});

test('totals are those of the records that are there, whatever is added, changed and removed', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.uniqueArray(change, { selector: ({ place }) => place, minLength: 1 }), {
        minLength: 1,
        maxLength: 6,
      }),
      async (history) => {
        const made = await createTestDatabase();
        try {
          await publishLines(made.database, { ...SMALL_CATALOG, solicitations: [] });
          for (const changes of history) {
            const lines = changes.map(({ place, isRemoved, ...fields }) =>
              isRemoved ? { id: `s${place}`, deleted: true } : { ...solicitation(`s${place}`, place + 1), ...fields },
            );
            await publishLines(made.database, { solicitations: lines });
            expect(await keptTotals(made.database)).toEqual(await countedTotals(made.database));
          }
        } finally {
          await made.drop();
        }
      },
    ),
    { numRuns: 15 },
  );
}, 120_000);

test('an import that is refused leaves totals as they were', async () => {
  const made = await createTestDatabase();
  try {
    await publishLines(made.database, SMALL_CATALOG);
    const before = await keptTotals(made.database);
    expect(before).not.toEqual([]);
    const lines = [solicitation('s_new', 77), { ...solicitation('s_bad', 78), lead_entity_id: 'nobody' }];
    await expect(publishLines(made.database, { solicitations: lines })).rejects.toThrow();
    expect(await keptTotals(made.database)).toEqual(before);
  } finally {
    await made.drop();
  }
});

async function keptTotals({ kysely }: OpenDatabase): Promise<unknown[]> {
  const { rows } = await sql`select lead_entity_id, status, month, total from catalog.solicitation_totals
    order by 1, 2, 3`.execute(kysely);
  return rows.map((row) => ({ ...(row as object) }));
}

async function countedTotals({ kysely }: OpenDatabase): Promise<unknown[]> {
  const { rows } = await sql`
    select lead_entity_id, status, month, count(*) as total from (
      select lead_entity_id, status, coalesce(substr(close_at, 1, 7), '') as month
      from catalog.solicitations where status <> 'draft'
      union all
      select '', status, coalesce(substr(close_at, 1, 7), '')
      from catalog.solicitations where status <> 'draft'
    ) as counted group by 1, 2, 3 order by 1, 2, 3`.execute(kysely);
  return rows.map((row) => ({ ...(row as object) }));
}
