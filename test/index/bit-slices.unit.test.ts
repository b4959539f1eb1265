import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  compareSlices,
  MAX_COMPARED_ALONE,
  sliceableTimestamp,
  slicesOf,
  TIMESTAMP_BITS,
} from '../../src/index/bit-slices.ts';
import { positionsFrom, setOf, type PositionSet } from '../../src/index/position-set.ts';

const MAX_VALUE = 2 ** TIMESTAMP_BITS - 1;

/** Values that equal the bound, or differ from it in one bit or in all. */
const value = fc.oneof(
  fc.integer({ min: 0, max: 20 }),
  fc.maxSafeNat().map((number) => number % (MAX_VALUE + 1)),
  fc.integer({ min: 0, max: TIMESTAMP_BITS - 1 }).map((bit) => 2 ** bit),
  fc.constantFrom(0, MAX_VALUE),
);

function slicesOfAll(values: readonly number[], width = TIMESTAMP_BITS): PositionSet[] {
  const positions = Map.groupBy(
    values.flatMap((number, position) => slicesOf(number).map((slice) => ({ slice, position }))),
    ({ slice }) => slice,
  );
  return Array.from({ length: width }, (_, slice) =>
    setOf(Uint16Array.from(positions.get(slice) ?? [], ({ position }) => position)),
  );
}

test.each(['at least', 'at most'] as const)('finds exactly the records whose value is %s a bound', (side) => {
  fc.assert(
    // Few records are compared individually, many as sets.
    fc.property(
      fc.array(value, { maxLength: 2 * MAX_COMPARED_ALONE, size: 'max' }),
      value,
      fc.nat(10_000),
      (values, anyBound, pick) => {
        const bound = pick % 2 === 0 ? anyBound : (values[pick % Math.max(1, values.length)] ?? anyBound);
        const all = setOf(Uint16Array.from(values.keys()));
        const found = compareSlices(all, slicesOfAll(values), side, bound);
        const expected = [...values.keys()].filter((position) => {
          const compared = (values[position] ?? 0) - bound;
          return side === 'at least' ? compared >= 0 : compared <= 0;
        });
        expect(positionsFrom(found, 0, values.length + 1)).toEqual(expected);
      },
    ),
  );
});

test('a record without a value never matches a comparison', () => {
  const slices = slicesOfAll([5, 0, 7]);
  const withValue = setOf(Uint16Array.of(0, 2));
  expect(positionsFrom(compareSlices(withValue, slices, 'at least', 0), 0, 9)).toEqual([0, 2]);
  expect(positionsFrom(compareSlices(withValue, slices, 'at most', MAX_VALUE), 0, 9)).toEqual([0, 2]);
});

test('a bound with more bits than the values is above all of them', () => {
  const slices = slicesOfAll([0, 5, 7], 3);
  const all = setOf(Uint16Array.of(0, 1, 2));
  for (const bound of [8, 2 ** 40]) {
    expect(positionsFrom(compareSlices(all, slices, 'at least', bound), 0, 9)).toEqual([]);
    expect(positionsFrom(compareSlices(all, slices, 'at most', bound), 0, 9)).toEqual([0, 1, 2]);
  }
});

test('timestamps keep their order as numbers, from the first year to the last', () => {
  const timestamp = fc
    .date({ min: new Date('0000-01-01T00:00:00Z'), max: new Date('9999-12-31T23:59:59.999Z'), noInvalidDate: true })
    .map((date) => date.toISOString());
  fc.assert(
    fc.property(timestamp, timestamp, (one, other) => {
      const order = Math.sign(sliceableTimestamp(one) - sliceableTimestamp(other));
      const expected = one < other ? -1 : 1;
      expect(order).toBe(one === other ? 0 : expected);
    }),
  );
  expect(sliceableTimestamp('0000-01-01T00:00:00.000Z')).toBe(0);
  expect(sliceableTimestamp('9999-12-31T23:59:59.999Z')).toBeLessThanOrEqual(MAX_VALUE);
});

test('a timestamp at a whole minute belongs to none of the 16 lowest slices', () => {
  expect(Math.min(...slicesOf(sliceableTimestamp('2026-04-15T09:31:00.000Z')))).toBeGreaterThanOrEqual(16);
});
