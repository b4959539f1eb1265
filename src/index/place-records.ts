import { BLOCK_SIZE } from './position-set.ts';

/** Records that are spread anew take at most this part of their positions, so that the next ones find room too. */
const MAX_DENSITY = 0.9;

/**
 * Positions for the records of a block in the order of their ids, so that the order of positions
 * is that of ids. A stored record keeps its position unless there is no room between two: then the
 * records around that place are spread evenly, as few of them as leave a tenth of their positions free.
 *
 * @param positions of all records in the order of their ids; null for a new record.
 * @param stepAtEnd distance between new records behind the last stored one.
 * @returns null if the block has no room for all of them.
 */
export function placeRecords(positions: readonly (number | null)[], stepAtEnd: number): number[] | null {
  if (positions.length > BLOCK_SIZE) return null;
  const placed = [...positions];
  for (let start = placed.indexOf(null); start !== -1; start = placed.indexOf(null, start)) {
    let end = start;
    while (end < placed.length && placed[end] === null) end += 1;
    const isAtEnd = end === placed.length;
    if (isAtEnd && appendAll(placed, start, stepAtEnd)) break;
    spread(placed, ...windowAround(placed, start, end));
  }
  return placed.map((position) => {
    if (position === null) throw new Error('a record was not placed');
    return position;
  });
}

/** Places new records behind the last stored one, if the block has room for all of them there. */
function appendAll(placed: (number | null)[], start: number, step: number): boolean {
  const last = placed[start - 1] ?? -1;
  const count = placed.length - start;
  if (last + 1 + (count - 1) * step >= BLOCK_SIZE) return false;
  for (let index = 0; index < count; index += 1) placed[start + index] = last + 1 + index * step;
  return true;
}

/**
 * The records to spread, from one index to another: the new ones alone if the gap has room for them; else
 * ever more of those around them, until they are sparse enough or all are taken.
 */
function windowAround(placed: readonly (number | null)[], start: number, end: number): [from: number, to: number] {
  if (roomBetween(placed, start, end) >= end - start) return [start, end];
  for (let extra = end - start; ; extra *= 2) {
    const from = Math.max(0, start - extra);
    const to = Math.min(placed.length, end + extra);
    if (from === 0 && to === placed.length) return [from, to];
    // An edge must be a stored record, or what lies beyond has no position yet.
    if (to < placed.length && placed[to] === null) continue;
    if ((to - from) / roomBetween(placed, from, to) <= MAX_DENSITY) return [from, to];
  }
}

/** Positions that the records from one index to another may take. */
function roomBetween(placed: readonly (number | null)[], from: number, to: number): number {
  return upperEdge(placed, to) - lowerEdge(placed, from);
}

/** The first position of a window. */
function lowerEdge(placed: readonly (number | null)[], from: number): number {
  return from === 0 ? 0 : (placed[from - 1] ?? -1) + 1;
}

/** The first position behind a window. */
function upperEdge(placed: readonly (number | null)[], to: number): number {
  return to >= placed.length ? BLOCK_SIZE : (placed[to] ?? BLOCK_SIZE);
}

/** Gives the records from one index to another positions at equal distances. */
function spread(placed: (number | null)[], from: number, to: number): void {
  const first = lowerEdge(placed, from);
  const room = upperEdge(placed, to) - first;
  const count = to - from;
  for (let index = 0; index < count; index += 1) {
    placed[from + index] = first + Math.floor(((index + 0.5) * room) / count);
  }
}
