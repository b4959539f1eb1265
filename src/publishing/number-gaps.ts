/** A stored record on either side of a gap. */
export interface Neighbour {
  id: string;
  number: number;
}

/** What is left on each side of a new record at least, as a part of the gap: a series that grows takes so much each time. */
const LEAST_SHARE = 1 / 1024;

/** Each further character that an id shares with one neighbour, and not with the other, brings it so much closer. */
const CLOSER = 16;

/**
 * Numbers for new ids, in their order, between two neighbours; null where the gap has no room.
 *
 * Before the first and after the last record there is room for all. Between two, the numbers are
 * spread, except that an id which continues the series of its neighbour (`RFP-0041-26` after
 * `RFP-0040-26`, before `RFQ-0001-20`) stays close to it: the room is left where the next one
 * will come.
 */
export function numbersBetween(
  ids: readonly string[],
  left: Neighbour | null,
  right: Neighbour | null,
  stride: number,
): number[] | null {
  if (right === null) return inSteps(ids.length, left?.number ?? 0, stride);
  if (left === null) return inSteps(ids.length, right.number - stride * (ids.length + 1), stride);
  if (right.number - left.number <= ids.length) return null;
  const numbers: number[] = [];
  spread(ids, 0, ids.length, left, right, numbers);
  return numbers;
}

/** Gives the id in the middle its number, then those on either side of it. */
function spread(
  ids: readonly string[],
  from: number,
  to: number,
  left: Neighbour,
  right: Neighbour,
  numbers: number[],
): void {
  if (from === to) return;
  const at = (from + to) >>> 1;
  const id = ids[at] ?? '';
  const room = right.number - left.number;
  const least = Math.max(1, Math.floor(room * Math.min(LEAST_SHARE, 1 / (2 * (to - from + 1)))));
  const number = Math.min(
    right.number - least * (to - at),
    Math.max(left.number + least * (at - from + 1), left.number + Math.floor(room * shareOf(id, left.id, right.id))),
  );
  const middle = { id, number };
  spread(ids, from, at, left, middle, numbers);
  numbers.push(number);
  spread(ids, at + 1, to, middle, right, numbers);
}

/** How far an id lies on the way from one neighbour to the other, from 0 to 1. */
function shareOf(id: string, left: string, right: string): number {
  const closer = sharedLength(id, left) - sharedLength(id, right);
  const share = CLOSER ** -Math.abs(closer) / 2;
  return closer >= 0 ? share : 1 - share;
}

function sharedLength(one: string, other: string): number {
  let length = 0;
  while (length < one.length && one[length] === other[length]) length += 1;
  return length;
}

function inSteps(count: number, start: number, stride: number): number[] | null {
  if (!Number.isSafeInteger(start) || !Number.isSafeInteger(start + count * stride)) return null;
  return Array.from({ length: count }, (_, index) => start + (index + 1) * stride);
}
