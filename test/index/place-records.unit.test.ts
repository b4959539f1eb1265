import fc from 'fast-check';
import { expect, test } from 'vitest';
import { placeRecords } from '../../src/index/place-records.ts';
import { BLOCK_SIZE } from '../../src/index/position-set.ts';

/** Stored records, dense in places, with new ones among them. */
const records = fc
  .tuple(
    fc.uniqueArray(fc.oneof(fc.nat(BLOCK_SIZE - 1), fc.nat(60), fc.integer({ min: 65_500, max: BLOCK_SIZE - 1 })), {
      maxLength: 200,
    }),
    fc.array(fc.tuple(fc.nat(200), fc.integer({ min: 1, max: 40 })), { maxLength: 8 }),
  )
  .map(([stored, runs]) => {
    const positions: (number | null)[] = stored.sort((one, other) => one - other);
    for (const [index, count] of runs) {
      positions.splice(Math.min(index, positions.length), 0, ...Array<null>(count).fill(null));
    }
    return positions;
  });

test('positions rise in the order of the records, within the block', () => {
  fc.assert(
    fc.property(records, fc.integer({ min: 1, max: 3 }), (positions, step) => {
      const placed = placeRecords(positions, step);
      expect(placed).toHaveLength(positions.length);
      for (const [index, position] of (placed ?? []).entries()) {
        expect(position).toBeGreaterThan(placed?.[index - 1] ?? -1);
        expect(position).toBeLessThan(BLOCK_SIZE);
      }
    }),
  );
});

test('a stored record keeps its position if every gap has room for the new ones', () => {
  fc.assert(
    fc.property(
      fc.array(fc.record({ room: fc.integer({ min: 1, max: 20 }), added: fc.nat(20) }), {
        minLength: 1,
        maxLength: 50,
      }),
      (gaps) => {
        let position = -1;
        const positions = gaps.flatMap(({ room, added }) => {
          position += room + 1;
          return [...Array<null>(Math.min(room, added)).fill(null), position];
        });
        const placed = placeRecords(positions, 1) ?? [];
        expect(placed.filter((_, index) => positions[index] !== null)).toEqual(
          positions.filter((stored) => stored !== null),
        );
      },
    ),
  );
});

test('new records behind the last are a step apart', () => {
  expect(placeRecords([10, null, null], 4)).toEqual([10, 11, 15]);
  expect(placeRecords([null, null, null], 4)).toEqual([0, 4, 8]);
});

test('where there is no room, records nearby move, and not the whole block', () => {
  // Three of four positions are taken, as after a first import.
  const stored = Array.from({ length: 49_152 }, (_, index) => Math.floor((index * 4) / 3));
  const positions = [...stored.slice(0, 20_000), ...Array<null>(50).fill(null), ...stored.slice(20_000)];
  const placed = placeRecords(positions, 1) ?? [];
  const moved = placed.filter((position, index) => positions[index] !== null && position !== positions[index]);
  expect(moved.length).toBeGreaterThan(0);
  expect(moved.length).toBeLessThan(1_000);
});

test('a full block takes every record, and not one more', () => {
  const full = Array.from({ length: BLOCK_SIZE }, (_, index) => (index < 100 ? null : index - 100));
  expect(placeRecords(full, 1)).toEqual([...Array(BLOCK_SIZE).keys()]);
  expect(placeRecords([...full, null], 1)).toBeNull();
});
