/** Records that are spread anew take at most this part of their positions, so that the next ones find room too. */
const MAX_DENSITY = 0.9;

/** A block with more records than this part of its positions is split. */
const MAX_FILL = 0.9;

/** Where a gap is no further away than this many records, these move by a little, and no others. */
const MAX_SHIFTED = 8;

/** Records take this part of the positions of a new block, so that new ids find room between their neighbours. */
const INITIAL_FILL = 3 / 4;

/**
 * Places for the records of a block in the order of their ids; in more than one block if one does not take them all.
 *
 * @param positions of all records in the order of their ids; null for a new record.
 * @param isLast no block follows, so that most new records will come behind the last.
 * @returns for each record its position, counted from the beginning of this block on through new blocks behind it.
 */
export function placeInBlocks(positions: readonly (number | null)[], blockSize: number, isLast: boolean): number[] {
  if (positions.length <= blockSize * MAX_FILL) return placeRecords(positions, blockSize, 1 / INITIAL_FILL);
  const perBlock = Math.max(1, Math.floor(blockSize * INITIAL_FILL));
  const firstNew = positions.findLastIndex((position) => position !== null) + 1;
  // Records behind the last stored one get blocks of their own, so that no stored record moves.
  const kept = positions.slice(0, firstNew).filter((position) => position !== null);
  if (firstNew > 0 && kept.length === firstNew) {
    const added = inEvenBlocks(positions.length - firstNew, perBlock, blockSize, isLast);
    return [...kept, ...added.map((place) => place + blockSize)];
  }
  return inEvenBlocks(positions.length, perBlock, blockSize, isLast);
}

/** New records fill one block after the other if more will follow behind them, and equal blocks otherwise. */
function inEvenBlocks(count: number, perBlock: number, blockSize: number, isLast: boolean): number[] {
  const blocks = Math.ceil(count / perBlock);
  const size = isLast ? perBlock : Math.ceil(count / blocks);
  const step = isLast ? 1 / INITIAL_FILL : blockSize / size;
  return Array.from(
    { length: count },
    (_, index) => Math.floor(index / size) * blockSize + Math.floor((index % size) * step),
  );
}

/**
 * Positions for the records of a block in the order of their ids, so that the order of positions
 * is that of ids. A stored record keeps its position unless there is no room between two: then its
 * neighbours shift into the nearest gap. If that is far away, the records around the place are spread
 * evenly, as few of them as leave a tenth of their positions free.
 *
 * @param positions of all records in the order of their ids; null for a new record.
 * @param blockSize the number of positions; at least as many as records.
 * @param stepAtEnd distance between new records behind the last stored one, from 1.
 */
export function placeRecords(positions: readonly (number | null)[], blockSize: number, stepAtEnd: number): number[] {
  const placed = [...positions];
  for (let start = placed.indexOf(null); start !== -1; start = placed.indexOf(null, start)) {
    let end = start;
    while (end < placed.length && placed[end] === null) end += 1;
    const isAtEnd = end === placed.length;
    if (isAtEnd && appendAll(placed, start, blockSize, stepAtEnd)) break;
    if (roomBetween(placed, blockSize, start, end) < end - start && shift(placed, blockSize, start, end)) continue;
    spread(placed, blockSize, ...windowAround(placed, blockSize, start, end));
  }
  return placed.map((position) => {
    if (position === null) throw new Error('a record was not placed');
    return position;
  });
}

/** Places new records behind the last stored one, if the block has room for all of them there. */
function appendAll(placed: (number | null)[], start: number, blockSize: number, step: number): boolean {
  const last = placed[start - 1] ?? -1;
  const count = placed.length - start;
  if (last + 1 + (count - 1) * step >= blockSize) return false;
  for (let index = 0; index < count; index += 1) placed[start + index] = last + 1 + Math.floor(index * step);
  return true;
}

/**
 * Makes room for new records by moving the stored ones before them down, or those behind them up, whichever are fewer.
 * False if more than a few would move.
 */
function shift(placed: (number | null)[], blockSize: number, start: number, end: number): boolean {
  for (let count = 1; count <= MAX_SHIFTED; count += 1) {
    const [from, to] = [start - count, end + count];
    if (from >= 0 && roomBetween(placed, blockSize, from, end) >= end - from) {
      let next = upperEdge(placed, blockSize, end) - 1;
      for (let index = end - 1; index >= from; index -= 1)
        next = (placed[index] = Math.min(placed[index] ?? next, next)) - 1;
      return true;
    }
    if (to > placed.length || placed[to - 1] === null) continue;
    if (placed[to] !== null && roomBetween(placed, blockSize, start, to) >= to - start) {
      let next = lowerEdge(placed, start);
      for (let index = start; index < to; index += 1)
        next = (placed[index] = Math.max(placed[index] ?? next, next)) + 1;
      return true;
    }
  }
  return false;
}

/**
 * The records to spread, from one index to another: the new ones alone if the gap has room for them; else
 * ever more of those around them, until they are sparse enough or all are taken.
 */
function windowAround(
  placed: readonly (number | null)[],
  blockSize: number,
  start: number,
  end: number,
): [from: number, to: number] {
  if (roomBetween(placed, blockSize, start, end) >= end - start) return [start, end];
  for (let extra = end - start; ; extra *= 2) {
    const from = Math.max(0, start - extra);
    const to = Math.min(placed.length, end + extra);
    if (from === 0 && to === placed.length) return [from, to];
    // An edge must be a stored record, or what lies beyond has no position yet.
    if (to < placed.length && placed[to] === null) continue;
    if ((to - from) / roomBetween(placed, blockSize, from, to) <= MAX_DENSITY) return [from, to];
  }
}

/** Positions that the records from one index to another may take. */
function roomBetween(placed: readonly (number | null)[], blockSize: number, from: number, to: number): number {
  return upperEdge(placed, blockSize, to) - lowerEdge(placed, from);
}

/** The first position of a window. */
function lowerEdge(placed: readonly (number | null)[], from: number): number {
  return from === 0 ? 0 : (placed[from - 1] ?? -1) + 1;
}

/** The first position behind a window. */
function upperEdge(placed: readonly (number | null)[], blockSize: number, to: number): number {
  return to >= placed.length ? blockSize : (placed[to] ?? blockSize);
}

/** Gives the records from one index to another positions at equal distances. */
function spread(placed: (number | null)[], blockSize: number, from: number, to: number): void {
  const first = lowerEdge(placed, from);
  const room = upperEdge(placed, blockSize, to) - first;
  const count = to - from;
  for (let index = 0; index < count; index += 1) {
    placed[from + index] = first + Math.floor(((index + 0.5) * room) / count);
  }
}
