import { sql } from 'kysely';
import { expect, test } from 'vitest';
import type { OpenDatabase } from '../../src/database/database.ts';
import { createTestDatabase } from '../support/database.ts';
import { publishLines, SMALL_CATALOG, solicitation } from '../support/publishing.ts';
import { idsFound } from '../support/schema/search.ts';

/** More than one batch of everything, and more records than are indexed one by one. */
const RECORDS = 6_000;
const PARTS = 4;

const WORDS = ['asphalt', 'Bridges', 'culvert', 'drainage', 'École', 'fencing', 'grading', 'hauling', 'ﬁlters'];

/** Neither in order of id nor of equal length; some with refs and words of their own. */
const records = Array.from({ length: RECORDS }, (_, index) => {
  const number = (index * 7_919) % RECORDS;
  return {
    ...solicitation(`sol_${String(number).padStart(5, '0')}`, number + 1),
    status: ['open', 'closed', 'draft'][number % 3],
    title: `Unit ${number} ${WORDS[number % WORDS.length]}`,
    description: `${WORDS[(number * 5) % WORDS.length]} works. `.repeat(90 + (number % 7)),
  };
});

test('a large import gives the same result as several small ones', async () => {
  await using atOnce = await createTestDatabase();
  await using inParts = await createTestDatabase();
  const { solicitations: _, ...others } = SMALL_CATALOG;
  await publishLines(atOnce.database, { ...others, solicitations: records });
  await publishLines(inParts.database, others);
  for (let part = 0; part < PARTS; part += 1) {
    const solicitations = records.slice((part * RECORDS) / PARTS, ((part + 1) * RECORDS) / PARTS);
    await publishLines(inParts.database, { solicitations });
  }
  expect(await storedRecords(atOnce.database)).toEqual(await storedRecords(inParts.database));
  for (const q of [...WORDS, 'bridge', 'gr', 'u', 'unit 41', 'drain grad', 'ecol', 'nothing']) {
    const found = await idsFound(atOnce.database, 'solicitations', q);
    expect(found, q).toEqual(await idsFound(inParts.database, 'solicitations', q));
    expect(found.length > 0, q).toBe(q !== 'nothing');
  }
}, 60_000);

test('a repeated import changes nothing, and a changed line changes only its record', async () => {
  await using made = await createTestDatabase();
  await publishLines(made.database, { ...SMALL_CATALOG, solicitations: records });
  const again = await publishLines(made.database, { solicitations: records });
  expect(again.kinds.solicitations).toEqual({ added: 0, changed: 0, unchanged: RECORDS, removed: 0 });
  const changed = records.map((record, index) => (index === 17 ? { ...record, title: 'Zymurgy' } : record));
  const report = await publishLines(made.database, { solicitations: changed });
  expect(report.kinds.solicitations).toEqual({ added: 0, changed: 1, unchanged: RECORDS - 1, removed: 0 });
  const expected = records[17]?.status === 'draft' ? [] : [records[17]?.id];
  expect(await idsFound(made.database, 'solicitations', 'zymurgy')).toEqual(expected);
}, 60_000);

async function storedRecords({ kysely }: OpenDatabase): Promise<object[]> {
  const { rows } = await sql<object>`
    select id, row_number() over (order by position) as place, line_hash, ref, lead_entity_id, status,
      close_at, document, detail from catalog.solicitations order by id`.execute(kysely);
  return rows;
}
