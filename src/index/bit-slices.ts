import { at, EMPTY_SET, toBits, fromBits, type PositionSet } from './position-set.ts';

/** Bits of a timestamp: the minutes of 9,999 years take 33, the milliseconds within a minute 16. */
export const TIMESTAMP_BITS = 49;

const MS_A_MINUTE = 60_000;

/** What a minute counts for: more than its milliseconds, so that order is kept. A power of two. */
const MINUTE = 65_536;

/** 0001-01-01T00:00:00.000Z, the earliest timestamp, so that no value is negative. */
const EARLIEST_MS = -62_135_596_800_000;

/**
 * A timestamp as a number that keeps the order, to be indexed bit by bit. Minutes and the
 * milliseconds within are bits of their own: deadlines at whole minutes leave 16 of 49 slices empty.
 *
 * @param timestamp in the stored form, such as `2026-04-15T09:00:00.000Z`.
 */
export function sliceableTimestamp(timestamp: string): number {
  const ms = Date.parse(timestamp) - EARLIEST_MS;
  return Math.floor(ms / MS_A_MINUTE) * MINUTE + (ms % MS_A_MINUTE);
}

/** The slices that a value belongs to: the places of its bits that are set, from 0. */
export function slicesOf(value: number): number[] {
  const slices: number[] = [];
  for (let slice = 0, rest = value; rest > 0; slice += 1, rest = Math.floor(rest / 2)) {
    if (rest % 2 === 1) slices.push(slice);
  }
  return slices;
}

/**
 * The records whose value is at least, or at most, a bound, in one pass over the slices from the
 * highest to the lowest (O'Neil and Quass, 1997).
 *
 * @param all the records that have a value.
 * @param sliceAt the records whose value has this bit.
 * @param width how many bits the values have at most.
 * @param bound a whole number from 0 on.
 */
export function compareSlices(
  all: PositionSet,
  sliceAt: (slice: number) => PositionSet,
  width: number,
  comparison: 'at least' | 'at most',
  bound: number,
): PositionSet {
  const wantsGreater = comparison === 'at least';
  if (all.length === 0 || (wantsGreater && bound >= 2 ** width)) return EMPTY_SET;
  if (bound >= 2 ** width) return all;
  /** Records that equal the bound in all higher bits. */
  const equal = toBits(all);
  /** Records of which a higher bit decided that they are beyond the bound, on the side that is wanted. */
  const beyond = new Uint32Array(equal.length);
  for (let slice = width - 1; slice >= 0; slice -= 1) {
    const isSet = Math.floor(bound / 2 ** slice) % 2 === 1;
    const set = sliceAt(slice);
    if (set.length === 0) {
      // No record has the bit: if the bound has it, all that were equal so far are below.
      if (!isSet) continue;
      if (!wantsGreater) addWords(beyond, equal);
      equal.fill(0);
      break;
    }
    const bits = set instanceof Uint32Array ? set : toBits(set);
    for (let word = 0; word < equal.length; word += 1) {
      const undecided = at(equal, word);
      const withBit = undecided & at(bits, word);
      const without = undecided & ~at(bits, word);
      equal[word] = isSet ? withBit : without;
      if (isSet !== wantsGreater) beyond[word] = at(beyond, word) | (isSet ? without : withBit);
    }
  }
  addWords(beyond, equal);
  return fromBits(beyond);
}

function addWords(to: Uint32Array, from: Uint32Array): void {
  for (let word = 0; word < to.length; word += 1) to[word] = at(to, word) | at(from, word);
}
