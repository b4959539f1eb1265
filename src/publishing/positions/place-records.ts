/** Records that are spread out again fill at most this share of their positions, to leave room for later ones. */
const MAX_DENSITY = 0.9;

/** A block is split if its records exceed this share of its positions. */
const MAX_FILL = 0.9;

/** If a gap is at most this many records away, only those records shift. */
const MAX_SHIFTED = 8;

/** Share of a new block's positions filled at first, to leave room for new ids between neighbors. */
const INITIAL_FILL = 3 / 4;

/**
 * Places a block's records in id order, adding blocks if they do not all fit.
 *
 * @param positions of all records in id order; null for a new record.
 * @param isLast true if no block follows: then most later records will be appended.
 * @returns each record's position, counted on through the added blocks.
 */
export function placeInBlocks(positions: readonly (number | null)[], blockSize: number, isLast: boolean): number[] {
  if (positions.length <= blockSize * MAX_FILL) return placeRecords(positions, blockSize, 1 / INITIAL_FILL);
  const perBlock = Math.max(1, Math.floor(blockSize * INITIAL_FILL));
  const firstNew = positions.findLastIndex((position) => position !== null) + 1;
  // Records after the last stored one get their own blocks, so that no stored record moves.
  const kept = positions.slice(0, firstNew).filter((position) => position !== null);
  if (firstNew > 0 && kept.length === firstNew) {
    const added = inEvenBlocks(positions.length - firstNew, perBlock, blockSize, isLast);
    return [...kept, ...added.map((position) => position + blockSize)];
  }
  return inEvenBlocks(positions.length, perBlock, blockSize, isLast);
}

/** New records fill one block after another if more are likely to be appended, otherwise equal-sized blocks. */
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
 * Assigns positions in id order. If there is no room between two records, neighbors shift into the nearest gap. If that is
 * far away, the smallest window that leaves a tenth of its positions free is spread evenly.
 *
 * @param positions of all records in id order; null for a new record.
 * @param blockSize the number of positions; at least the number of records.
 * @param stepAtEnd distance between new records after the last stored one; at least 1.
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

/** Appends new records after the last stored one; false if the block lacks room for all of them there. */
function appendAll(placed: (number | null)[], start: number, blockSize: number, step: number): boolean {
  const last = placed[start - 1] ?? -1;
  const count = placed.length - start;
  if (last + 1 + (count - 1) * step >= blockSize) return false;
  for (let index = 0; index < count; index += 1) placed[start + index] = last + 1 + Math.floor(index * step);
  return true;
}

/**
 * Makes room for new records by moving the stored ones before them down or those after them up, whichever are fewer.
 * False if more than `MAX_SHIFTED` would move.
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
    // Other new records have no position yet: those beyond them could be moved onto one another.
    if (to > placed.length || placed.slice(end, to + 1).includes(null)) continue;
    if (roomBetween(placed, blockSize, start, to) >= to - start) {
      let next = lowerEdge(placed, start);
      for (let index = start; index < to; index += 1)
        next = (placed[index] = Math.max(placed[index] ?? next, next)) + 1;
      return true;
    }
  }
  return false;
}

/**
 * The range of records to spread: only the new ones if they fit into the gap, otherwise with ever more neighbors until
 * the range is sparse enough or covers the block.
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
    // Each edge must be a stored record: a new one has no position yet.
    if (to < placed.length && placed[to] === null) continue;
    if ((to - from) / roomBetween(placed, blockSize, from, to) <= MAX_DENSITY) return [from, to];
  }
}

function roomBetween(placed: readonly (number | null)[], blockSize: number, from: number, to: number): number {
  return upperEdge(placed, blockSize, to) - lowerEdge(placed, from);
}

/** The first position of a window. */
function lowerEdge(placed: readonly (number | null)[], from: number): number {
  return from === 0 ? 0 : (placed[from - 1] ?? -1) + 1;
}

/** The first position after a window. */
function upperEdge(placed: readonly (number | null)[], blockSize: number, to: number): number {
  return to >= placed.length ? blockSize : (placed[to] ?? blockSize);
}

function spread(placed: (number | null)[], blockSize: number, from: number, to: number): void {
  const first = lowerEdge(placed, from);
  const room = upperEdge(placed, blockSize, to) - first;
  const count = to - from;
  for (let index = 0; index < count; index += 1) {
    placed[from + index] = first + Math.floor(((index + 0.5) * room) / count);
  }
}
