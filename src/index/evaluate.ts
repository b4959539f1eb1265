import { compareSlices } from './bit-slices.ts';
import { EMPTY_SET, intersectionOf, unionOf, type PositionSet } from './position-set.ts';

/** The terms from `from` up to `to`, in bytewise order. */
export interface TermRange {
  readonly from: string;
  readonly to: string;
  /** Filters these terms; all count without it. */
  readonly accepts?: (term: string) => boolean;
}

/** A comparison of a value with a bound; see `bit-slices.ts`. Records without a value never match. */
export interface Comparison {
  /** The value has the slices `name#0`, `name#1`, …. */
  readonly name: string;
  /** The term of all records that have a value. */
  readonly present: string;
  /** Maximum bits of a value. */
  readonly width: number;
  readonly comparison: 'at least' | 'at most';
  readonly bound: number;
}

/**
 * Matches records that have one of the terms, a term in one of the ranges, or a value that satisfies the comparison.
 */
export interface Condition {
  /** The key under which each block's result is cached. */
  readonly key: string;
  readonly terms: readonly string[];
  readonly ranges?: readonly TermRange[];
  readonly comparison?: Comparison;
}

/** The terms of a value's bits, lowest first. */
export function sliceTerms(name: string, width: number): string[] {
  return Array.from({ length: width }, (_, slice) => `${name}#${slice}`);
}

/** The terms whose sets are the slices of a value, in the order of {@link IndexBlock.getSlices}. */
export function termsOfValue({ name, present, width }: Comparison): string[] {
  return [present, ...sliceTerms(name, width)];
}

/** Read access to one block of the index. */
export interface IndexBlock {
  /** The records that have a term; the empty set if none. */
  get(term: string): PositionSet;
  /** The records that have a term of a range. */
  getRange(range: TermRange): PositionSet;
  /** The records that have a value, then for each bit, lowest first, those whose value has it. */
  getSlices(comparison: Comparison): readonly PositionSet[];
}

/**
 * The records of a block that meet a condition. Takes microseconds; a comparison up to a fifth of a millisecond.
 *
 * @param among limits the result to these records: comparing a few is faster than comparing all. All count without it.
 */
export function evaluate(
  block: IndexBlock,
  { terms, ranges = [], comparison }: Condition,
  among?: PositionSet,
): PositionSet {
  const sets = [...terms.map((term) => block.get(term)), ...ranges.map((range) => block.getRange(range))];
  if (comparison !== undefined) {
    const [present = EMPTY_SET, ...slices] = block.getSlices(comparison);
    const compared = among === undefined ? present : intersectionOf(among, present);
    sets.push(compareSlices(compared, slices, comparison.comparison, comparison.bound));
  }
  return unionOf(sets);
}

/**
 * The intersection of one or more sets.
 *
 * @throws Error if there is no set.
 */
export function intersectAll(sets: readonly PositionSet[]): PositionSet {
  // Smallest first: once the result is empty, the others are skipped.
  const [first, ...others] = sets.toSorted((one, other) => one.byteLength - other.byteLength);
  if (first === undefined) throw new Error('a query needs a condition');
  return others.reduce((found, set) => (found.length === 0 ? EMPTY_SET : intersectionOf(found, set)), first);
}
