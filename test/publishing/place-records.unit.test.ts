import fc from 'fast-check';
import { expect, test } from 'vitest';
import { placeInBlocks as placesInBlocks, placeRecords } from '../../src/publishing/positions/place-records.ts';
import { BLOCK_SIZE } from '../../src/index/position-set.ts';

/** Every arrangement of stored and new records that fits into a block of this size. */
function* everyBlock(blockSize: number): Generator<(number | null)[]> {
  const extend = function* (records: (number | null)[], from: number): Generator<(number | null)[]> {
    yield records;
    if (records.length === blockSize) return;
    yield* extend([...records, null], from);
    for (let position = from; position < blockSize; position += 1) yield* extend([...records, position], position + 1);
  };
  yield* extend([], 0);
}

test('in every small block, no two records get the same position', () => {
  for (const records of everyBlock(8)) {
    const placed = placeRecords(records, 8, 1);
    if (placed.some((position, index) => position <= (placed[index - 1] ?? -1) || position >= 8))
      expect.fail(`${JSON.stringify(records)} became ${JSON.stringify(placed)}`);
  }
});

test('if there is no room, only nearby records move', () => {
  // Three of four positions are occupied, as after a first import.
  const stored = Array.from({ length: 49_152 }, (_, index) => Math.floor((index * 4) / 3));
  const positions = [...stored.slice(0, 20_000), ...Array<null>(50).fill(null), ...stored.slice(20_000)];
  const placed = placeRecords(positions, BLOCK_SIZE, 1);
  const moved = placed.filter((position, index) => positions[index] !== null && position !== positions[index]);
  expect(moved.length).toBeGreaterThan(0);
  expect(moved.length).toBeLessThan(1_000);
});

test('inserting a record moves less than one other on average, while there are gaps nearby', () => {
  let stored = Array.from({ length: 49_152 }, (_, index) => Math.floor((index * 4) / 3));
  for (let round = 0; round < 10; round += 1) {
    const positions: (number | null)[] = [...stored];
    for (let added = 0; added < 50; added += 1)
      positions.splice((added * 9_973 + round * 97) % positions.length, 0, null);
    const placed = placeRecords(positions, BLOCK_SIZE, 1);
    const moved = placed.filter((position, index) => positions[index] !== null && position !== positions[index]);
    expect(moved.length).toBeLessThan(50);
    stored = placed;
  }
});

/** The position of each record: part 0 is the block itself, followed by new blocks. */
function placeInBlocks(positions: readonly (number | null)[], blockSize: number, isLast: boolean) {
  return placesInBlocks(positions, blockSize, isLast).map((position) => ({
    part: Math.floor(position / blockSize),
    position: position % blockSize,
  }));
}

/** A block's size, its stored and new records, and whether another block follows. */
const fullBlocks = fc.integer({ min: 1, max: 40 }).chain((blockSize) =>
  fc.record({
    blockSize: fc.constant(blockSize),
    positions: fc
      .tuple(
        fc.subarray([...Array(blockSize).keys()]),
        fc.array(fc.tuple(fc.nat(blockSize), fc.integer({ min: 1, max: 2 * blockSize })), { maxLength: 4 }),
      )
      .map(([stored, runs]) => {
        const positions: (number | null)[] = [...stored];
        for (const [index, count] of runs) {
          positions.splice(Math.min(index, positions.length), 0, ...Array<null>(count).fill(null));
        }
        return positions;
      }),
    isLast: fc.boolean(),
  }),
);

test('every record gets a position of its own, in the order of ids, within the capacity of consecutive blocks', () => {
  fc.assert(
    fc.property(fullBlocks, ({ blockSize, positions, isLast }) => {
      const placed = placeInBlocks(positions, blockSize, isLast);
      expect(placed).toHaveLength(positions.length);
      const misplaced = placed.filter(({ part, position }, index) => {
        const before = placed[index - 1] ?? { part: 0, position: -1 };
        const isNextPart = part === before.part + 1;
        const isBehind = part === before.part ? position > before.position : isNextPart && position >= 0;
        return position >= blockSize || !isBehind;
      });
      expect(misplaced).toEqual([]);
      expect(placeInBlocks([...positions], blockSize, isLast)).toEqual(placed);
    }),
    { numRuns: 300 },
  );
});

test('stored records keep their positions if new ones follow them or fit between them', () => {
  fc.assert(
    fc.property(fullBlocks, fc.nat(100), ({ blockSize, positions, isLast }, count) => {
      const stored = positions.filter((position) => position !== null);
      const appended = placeInBlocks([...stored, ...Array<null>(count).fill(null)], blockSize, isLast);
      // New records at the end that exceed the block's capacity go to new blocks; fewer can shift some to make room.
      if (stored.length + count > blockSize * 0.9 && stored.length > 0) {
        expect(appended.slice(0, stored.length)).toEqual(stored.map((position) => ({ part: 0, position })));
        expect(appended.slice(stored.length).every(({ part }) => part > 0)).toBe(true);
      }
      const gap = stored.findIndex((position, index) => position > (stored[index - 1] ?? -1) + 1);
      if (gap === -1 || stored.length + 1 > blockSize * 0.9) return;
      const inserted = placeInBlocks([...stored.slice(0, gap), null, ...stored.slice(gap)], blockSize, isLast);
      expect(inserted.filter((_, index) => index !== gap)).toEqual(stored.map((position) => ({ part: 0, position })));
    }),
    { numRuns: 500 },
  );
});

test('a split leaves room in each new block', () => {
  const full = Array.from({ length: 60 }, (_, index) => (index % 10 === 0 ? null : index));
  for (const isLast of [true, false]) {
    const placed = placeInBlocks(full, 64, isLast);
    const sizes = [...Map.groupBy(placed, ({ part }) => part).values()].map(({ length }) => length);
    expect(sizes.length).toBeGreaterThan(1);
    expect(Math.max(...sizes)).toBeLessThanOrEqual(48);
  }
});
