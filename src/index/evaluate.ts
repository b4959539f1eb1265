import { compareSlices } from './bit-slices.ts';
import { EMPTY_SET, intersectionOf, unionOf, type PositionSet } from './position-set.ts';

/** Terms from one to before another, in the order of their bytes. */
export interface TermRange {
  readonly from: string;
  readonly to: string;
  /** Which of these terms count; all if it is left out. */
  readonly accepts?: (term: string) => boolean;
}

/** A value that is compared with a bound; see `bit-slices.ts`. Records without a value do not meet it. */
export interface Comparison {
  /** The value has the slices `name#0`, `name#1`, …. */
  readonly name: string;
  /** The term of all records that have a value. */
  readonly present: string;
  /** How many bits the values have at most. */
  readonly width: number;
  readonly comparison: 'at least' | 'at most';
  readonly bound: number;
}

/** Met by records that have one of the terms, or a term of one of the ranges, or whose value compares as asked. */
export interface Condition {
  /** Names the condition: what one block has for it is cached under this. */
  readonly key: string;
  readonly terms: readonly string[];
  readonly ranges?: readonly TermRange[];
  readonly comparison?: Comparison;
}

/** The terms of all bits of a value, the lowest first. */
export function sliceTerms(name: string, width: number): string[] {
  return Array.from({ length: width }, (_, slice) => `${name}#${slice}`);
}

/** The terms whose sets are the slices of a value, in the order of {@link IndexBlock.getSlices}. */
export function termsOfValue({ name, present, width }: Comparison): string[] {
  return [present, ...sliceTerms(name, width)];
}

/** What one block of the index holds. */
export interface IndexBlock {
  /** The records that have a term; the empty set if none has. */
  get(term: string): PositionSet;
  /** The records that have a term of a range. */
  getRange(range: TermRange): PositionSet;
  /** The records that have a value, then those whose value has each bit, the lowest first. */
  getSlices(comparison: Comparison): readonly PositionSet[];
}

/**
 * The records of a block that meet a condition. Takes microseconds; up to a fifth of a millisecond for a comparison.
 *
 * @param among the only records that matter: few of them are compared faster than all. All matter if it is left out.
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

/** The records that are in all of these sets, of which there is at least one. */
export function intersectAll(sets: readonly PositionSet[]): PositionSet {
  // The smallest first: if nothing is left of it, the others are not looked at.
  const [first, ...others] = sets.toSorted((one, other) => one.byteLength - other.byteLength);
  if (first === undefined) throw new Error('a query needs a condition');
  return others.reduce((found, set) => (found.length === 0 ? EMPTY_SET : intersectionOf(found, set)), first);
}
