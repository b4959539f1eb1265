import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  BLOCK_SIZE,
  decodeSet,
  differenceOf,
  encodeSet,
  intersectionOf,
  positionsFrom,
  setOf,
  sizeOf,
  unionOf,
  type PositionSet,
} from '../../src/index/position-set.ts';

/** Few positions, many positions, long runs, and both edges of a block. */
const positions = fc
  .tuple(
    fc.array(fc.nat(BLOCK_SIZE - 1), { maxLength: 50 }),
    fc.array(fc.tuple(fc.nat(BLOCK_SIZE - 1), fc.integer({ min: 1, max: 9_000 }), fc.constantFrom(1, 2, 7)), {
      maxLength: 3,
    }),
    fc.subarray([0, 1, 31, 32, BLOCK_SIZE - 1]),
  )
  .map(([scattered, runs, edges]) => {
    const members = new Set([...scattered, ...edges]);
    for (const [start, length, step] of runs) {
      for (let index = 0; index < length; index += 1) members.add((start + index * step) % BLOCK_SIZE);
    }
    return members;
  });

const sorted = (members: Iterable<number>): number[] => [...members].sort((one, other) => one - other);
const toSet = (members: Iterable<number>): PositionSet => setOf(Uint16Array.from(sorted(members)));
const membersOf = (set: PositionSet): number[] => positionsFrom(set, 0, BLOCK_SIZE);

test("decodes what was encoded, at any offset in a driver's buffer", () => {
  fc.assert(
    fc.property(positions, fc.nat(3), (members, offset) => {
      const stored = encodeSet(toSet(members));
      const moved = new Uint8Array(stored.length + offset);
      moved.set(stored, offset);
      const read = decodeSet(moved.subarray(offset));
      expect(membersOf(read)).toEqual(sorted(members));
      // A cached set must not retain the larger buffer that a driver reads many values into.
      expect(read.buffer.byteLength).toBe(stored.length);
    }),
    { numRuns: 50 },
  );
});

test('a stored set takes at most 8 kB, or two bytes per position', () => {
  expect(encodeSet(toSet(Array(4_095).keys())).length).toBe(2 * 4_095);
  expect(encodeSet(toSet(Array(4_096).keys())).length).toBe(8_192);
  expect(encodeSet(toSet(Array(BLOCK_SIZE).keys())).length).toBe(8_192);
  // As an array, it would be as long as a bit set.
  expect(membersOf(decodeSet(encodeSet(toSet(Array(4_096).keys()))))).toEqual([...Array(4_096).keys()]);
});

test('a set returns and counts its positions in order, and union, intersection and difference equal those of plain sets', () => {
  fc.assert(
    fc.property(positions, positions, (one, other) => {
      const [left, right] = [toSet(one), toSet(other)];
      expect(membersOf(unionOf([left, right]))).toEqual(sorted(one.union(other)));
      expect(membersOf(intersectionOf(left, right))).toEqual(sorted(one.intersection(other)));
      expect(membersOf(differenceOf(left, right))).toEqual(sorted(one.difference(other)));
      // The operands are unchanged.
      expect([membersOf(left), membersOf(right)]).toEqual([sorted(one), sorted(other)]);
      expect([sizeOf(left), sizeOf(right)]).toEqual([one.size, other.size]);
    }),
    { numRuns: 50 },
  );
});

test('positionsFrom returns up to `limit` positions from a start, ascending', () => {
  fc.assert(
    fc.property(positions, fc.nat(BLOCK_SIZE - 1), fc.integer({ min: 1, max: 101 }), (members, from, limit) => {
      const expected = sorted(members)
        .filter((position) => position >= from)
        .slice(0, limit);
      expect(positionsFrom(toSet(members), from, limit)).toEqual(expected);
    }),
    { numRuns: 100 },
  );
});
