import { expect, test } from 'vitest';
import { createTestDatabase } from '../support/database.ts';
import { blockOf, expectLocalChanges, expectWholeIndex, type StoredIndex } from '../support/schema/index-rows.ts';
import {
  contract,
  publishLines,
  SMALL_CATALOG,
  solicitation,
  supplier,
  type ImportLines,
} from '../support/publishing.ts';
import { idsFound } from '../support/schema/search.ts';
import { INDEXED_KINDS, type IndexedKind } from '../../src/kinds.ts';

/** Enough records that one import can change more than are written individually. */
const RECORDS = 4_600;
const BLOCK_SIZE = 8_192;

const idOf = (number: number): string => `r${String(number).padStart(5, '0')}`;
const numbers = Array.from({ length: RECORDS }, (_, index) => index * 2);

const solicitations = numbers.map((number) => ({ ...solicitation(idOf(number), number + 1), description: 'before' }));
const suppliers = numbers.map((number) => ({
  ...supplier(idOf(number)),
  certifications: [] as string[],
  about: 'before',
}));
const changed = <T extends object>(lines: readonly T[], fields: Partial<T>): T[] =>
  lines.slice(0, 4_300).map((line) => ({ ...line, ...fields }));

test('rebuilding a block with many changes gives the same rows as writing each change', async () => {
  await using made = await createTestDatabase();
  const { database } = made;
  let indexes: Partial<Record<IndexedKind, StoredIndex>> = {};
  const publishAndCheck = async (files: ImportLines, replace = false): Promise<typeof indexes> => {
    await publishLines(database, files, { blockSize: BLOCK_SIZE, replace, allowRemovals: replace });
    const before = indexes;
    indexes = {};
    for (const kind of INDEXED_KINDS) {
      const after = await expectWholeIndex(database, kind, BLOCK_SIZE);
      const keys = (files[kind] ?? []).map((line) => (line as { id: string }).id);
      const earlier = before[kind];
      if (earlier !== undefined) expectLocalChanges(earlier, after, keys);
      indexes[kind] = after;
    }
    return indexes;
  };

  await publishAndCheck({
    ...SMALL_CATALOG,
    ...{ solicitations, suppliers },
    contracts: [{ ...contract('c1'), supplier_ids: [idOf(0), idOf(2)] }],
  });

  // In the same import, contracts add suppliers of the block, and one loses a supplier.
  await publishAndCheck({
    solicitations: [
      ...changed(solicitations, { description: 'after', status: 'closed' }),
      ...solicitations.slice(-3).map(({ id }) => ({ id, deleted: true })),
    ],
    suppliers: changed(suppliers, { about: 'after', states_served: ['MD'] }),
    contracts: [
      { ...contract('c1'), supplier_ids: [idOf(2), idOf(8_000)] },
      { ...contract('c2'), supplier_ids: [idOf(9_000)] },
    ],
  });
  expect(await idsFound(database, 'solicitations', 'after')).toHaveLength(4_300);
  expect(await idsFound(database, 'solicitations', 'before')).toHaveLength(RECORDS - 4_300 - 3);

  // New records between stored ones split the block, and move all records.
  const between = numbers.map((number) => ({
    ...solicitation(idOf(number + 1), number + 2),
    description: 'between',
  }));
  const { solicitations: split } = await publishAndCheck({ solicitations: between });
  expect(new Set(split?.records.map(({ position }) => blockOf(position))).size).toBeGreaterThan(1);
  expect(await idsFound(database, 'solicitations', 'between')).toHaveLength(RECORDS);

  // Most records of both blocks are removed.
  await publishAndCheck({ solicitations: between.slice(0, 100) }, true);
  expect(await idsFound(database, 'solicitations', 'between')).toEqual(between.slice(0, 100).map(({ id }) => id));
  expect(await idsFound(database, 'solicitations', 'after')).toEqual([]);
}, 120_000);

test('adding one record leaves the other blocks and their cached sets unchanged', async () => {
  await using made = await createTestDatabase();
  const { database } = made;
  const blockSize = 16;
  await publishLines(database, { ...SMALL_CATALOG, suppliers: suppliers.slice(0, 60), contracts: [] }, { blockSize });
  const tokens = (index: StoredIndex): Map<number, string> =>
    new Map(index.blocks.map(({ block, token }) => [block, token]));
  // Always between the same two records: there is room until the block is full and splits.
  for (let number = 1; number < 20; number += 1) {
    const before = await expectWholeIndex(database, 'suppliers', blockSize);
    const id = `${idOf(50)}-${String(30 - number).padStart(2, '0')}`;
    await publishLines(database, { suppliers: [{ ...supplier(id), certifications: [] }] }, { blockSize });
    const after = await expectWholeIndex(database, 'suppliers', blockSize);
    expectLocalChanges(before, after, [id]);
    const now = tokens(after);
    const touched = [...tokens(before)].filter(([block, token]) => now.get(block) !== token);
    expect(touched).toHaveLength(1);
    expect(after.blocks.length - before.blocks.length).toBeLessThanOrEqual(1);
  }
}, 60_000);
