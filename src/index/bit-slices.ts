import { at, contains, EMPTY_SET, fromBits, toBits, type PositionSet } from './position-set.ts';

/** Bits of a timestamp: 33 for the minutes of 10,000 years, 16 for the milliseconds within a minute. */
export const TIMESTAMP_BITS = 49;

const MS_A_MINUTE = 60_000;

/** The weight of a minute: a power of two above its 60,000 milliseconds, so that order is preserved. */
const MINUTE = 65_536;

/** 0000-01-01T00:00:00.000Z, the earliest timestamp, so that no value is negative. */
const EARLIEST_MS = -62_167_219_200_000;

/**
 * Encodes a timestamp as an order-preserving number, to be indexed bit by bit. Minutes and the milliseconds within them
 * have separate bits: deadlines at whole minutes leave 16 of the 49 slices empty.
 *
 * @param timestamp in the stored form, such as `2026-04-15T09:00:00.000Z`.
 */
export function sliceableTimestamp(timestamp: string): number {
  const ms = Date.parse(timestamp) - EARLIEST_MS;
  return Math.floor(ms / MS_A_MINUTE) * MINUTE + (ms % MS_A_MINUTE);
}

/** The indexes of a value's set bits, from 0. */
export function slicesOf(value: number): number[] {
  const slices: number[] = [];
  for (let slice = 0, rest = value; rest > 0; slice += 1, rest = Math.floor(rest / 2)) {
    if (rest % 2 === 1) slices.push(slice);
  }
  return slices;
}

/** The terms of a value's bits, lowest first. */
export function sliceTerms(name: string, width: number): string[] {
  return Array.from({ length: width }, (_, slice) => `${name}#${slice}`);
}

/** Up to this many records are compared one by one, which takes less time than a pass over the whole block. */
export const MAX_COMPARED_ALONE = 1_024;

/** Tests whether a record that has a value meets a comparison; see {@link compareSlices}. */
export function comparer(
  slices: readonly PositionSet[],
  comparison: 'at least' | 'at most',
  bound: number,
): (position: number) => boolean {
  const wantsGreater = comparison === 'at least';
  if (bound >= 2 ** slices.length) return () => !wantsGreater;
  const boundBits = bitsOf(bound, slices.length);
  return (position) => {
    for (let slice = slices.length - 1; slice >= 0; slice -= 1) {
      const isSet = boundBits[slice] === 1;
      if (contains(slices[slice] ?? EMPTY_SET, position) !== isSet) return isSet !== wantsGreater;
    }
    return true;
  };
}

/**
 * The records whose value is at least, or at most, a bound, in one pass over the slices from the highest to the lowest
 * (O'Neil and Quass, 1997).
 *
 * @param among records that have a value.
 * @param slices for each bit, lowest first, the records whose value has it. No value has more bits.
 * @param bound a non-negative integer.
 */
export function compareSlices(
  among: PositionSet,
  slices: readonly PositionSet[],
  comparison: 'at least' | 'at most',
  bound: number,
): PositionSet {
  const wantsGreater = comparison === 'at least';
  if (bound >= 2 ** slices.length) return wantsGreater ? EMPTY_SET : among;
  if (among instanceof Uint16Array && among.length <= MAX_COMPARED_ALONE) {
    return among.filter(comparer(slices, comparison, bound));
  }
  const boundBits = bitsOf(bound, slices.length);
  /** Records equal to the bound in all bits seen so far. */
  const equal = toBits(among);
  /** Records already known to be beyond the bound on the requested side. */
  const beyond = new Uint32Array(equal.length);
  for (let slice = slices.length - 1; slice >= 0; slice -= 1) {
    const isSet = boundBits[slice] === 1;
    const set = slices[slice] ?? EMPTY_SET;
    const withBit = set instanceof Uint32Array ? set : toBits(set);
    let undecided = 0;
    for (let word = 0; word < equal.length; word += 1) {
      const before = at(equal, word);
      const after = isSet ? before & at(withBit, word) : before & ~at(withBit, word);
      equal[word] = after;
      undecided |= after;
      if (isSet !== wantsGreater) beyond[word] = at(beyond, word) | (before & ~after);
    }
    if (undecided === 0) break;
  }
  for (let word = 0; word < beyond.length; word += 1) beyond[word] = at(beyond, word) | at(equal, word);
  return fromBits(beyond);
}

function bitsOf(bound: number, length: number): Uint8Array {
  const bits = new Uint8Array(length);
  for (let slice = 0, rest = bound; rest > 0; slice += 1, rest = Math.floor(rest / 2)) bits[slice] = rest % 2;
  return bits;
}
