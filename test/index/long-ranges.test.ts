import { beforeAll, expect, test } from 'vitest';
import type { Scope } from '../../src/access/scope.ts';
import { openForServing } from '../../src/database/open.ts';
import { hasWords } from '../../src/index/conditions.ts';
import { MAX_ROWS, RecordIndex } from '../../src/index/record-index.ts';
import { SetCache } from '../../src/index/block-query.ts';
import { databaseForAllTests } from '../support/database.ts';
import { hooked } from '../support/hooked.ts';
import { forAllTests } from '../support/lifetimes.ts';
import { takeSnapshot } from '../support/snapshots.ts';
import { publishLines, SMALL_CATALOG, solicitation } from '../support/publishing.ts';

const RECORDS = 3_000;
const GRANTED_AT = '2020-01-01T00:00:00.000Z';
/** Sorted differently by UTF-8 and by UTF-16. */
const LETTERS = ['\u{10428}', '\ua000', 'z', '7'];

const words = Array.from({ length: RECORDS }, (_, index) => `${LETTERS[index % 4] ?? ''}${String(index)}`);

const made = databaseForAllTests();
const serving = forAllTests(() => openForServing(made.config));
beforeAll(async () => {
  const solicitations = words.map((word, index) => ({
    ...solicitation(`sol_${String(index).padStart(5, '0')}`, index + 1),
    reference_number: String(2_024_000_000 + index),
    title: `quay${word}`,
  }));
  await publishLines(made.database, { ...SMALL_CATALOG, solicitations }, { blockSize: 2_048 });
});

/** The ids that a search finds with nothing cached, and the most rows that one of its statements returned. */
async function find(q: string, scope: Partial<Scope> = {}): Promise<{ ids: number[]; total: number; rows: number }> {
  let rows = 0;
  const database = hooked(serving, { after: (result) => (rows = Math.max(rows, result.length)) });
  const everything = { everythingSince: GRANTED_AT, leadEntities: new Map(), coops: new Map() };
  const snapshot = await takeSnapshot(database, 1, { ...everything, ...scope });
  const open = (): RecordIndex => new RecordIndex('solicitations', new SetCache(10_000_000));
  const { positions } = await open().find(snapshot, hasWords(q), { after: null, limit: RECORDS });
  const stored = await made.database.kysely
    .selectFrom('catalog.solicitations')
    .select(['ref', 'position'])
    .where('position', 'in', [-1, ...positions.map(Number)])
    .execute();
  const total = await open().count(snapshot, hasWords(q));
  return { ids: stored.map(({ ref }) => ref - 1).sort((a, b) => a - b), total, rows };
}

const matching = (test: (index: number) => boolean): number[] => [...words.keys()].filter(test);
const referenceOf = (index: number): string => String(2_024_000_000 + index);

test.each<[q: string, ids: number[]]>([
  ['2024', matching(() => true)],
  ['quay', matching(() => true)],
  ['2024001', matching((index) => referenceOf(index).startsWith('2024001'))],
  ['quay\ua000', matching((index) => index % 4 === 1)],
  ['quay\u{10428} 20240', matching((index) => index % 4 === 0)],
  ['quaz 2024', []],
])('%s finds every record that has one of the terms of a long range, in statements of bounded size', async (q, ids) => {
  const found = await find(q);
  expect(found.ids).toEqual(ids);
  expect(found.total).toBe(ids.length);
  // Two ranges of a statement share its rows; another row is the head.
  expect(found.rows).toBeLessThanOrEqual(MAX_ROWS + 1);
});

test('a scope of more lead entities than a statement can name is read in several', async () => {
  const ids = Array.from({ length: 2 * MAX_ROWS }, (_, index) => `le_${index}`);
  const leadEntities = new Map([...ids, 'le_a'].map((id) => [id, GRANTED_AT]));
  const found = await find('2024', { everythingSince: null, leadEntities });
  expect(found.total).toBe(RECORDS);
  expect(found.rows).toBeLessThanOrEqual(MAX_ROWS + 1);
});
