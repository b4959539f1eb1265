import { compareBytewise, type IndexEntry } from './block-builder.ts';
import {
  differenceOf,
  EMPTY_SET,
  intersectionOf,
  positionsFrom,
  setOf,
  sizeOf,
  unionOf,
  type PositionSet,
} from './position-set.ts';

/** What became of a block's records since its rows were written. */
export interface BlockChange {
  /** Positions, as they were stored, of records that changed or were removed. */
  readonly changed: PositionSet;
  /** New positions of records that did not change, by the positions that were stored. */
  readonly moved: ReadonlyMap<number, number>;
  /** The terms of records that changed or are new, ordered by term, at their new positions. */
  readonly added: readonly IndexEntry[];
}

/**
 * Brings the rows of a block up to date, in one pass in the order of terms.
 *
 * @param stored the rows as they are, ordered by term. All rows of the terms that the change is about.
 * @returns the rows that differ now; an empty set stands for a row that is to be deleted.
 */
export function* mergeEntries(
  stored: Iterable<IndexEntry>,
  { changed, moved, added }: BlockChange,
): Generator<IndexEntry> {
  const movedFrom = setOf(Uint16Array.from(moved.keys()).sort());
  let next = 0;
  for (const { term, set } of stored) {
    for (let fresh = added[next]; fresh !== undefined && compareBytewise(fresh.term, term) < 0; fresh = added[next]) {
      yield fresh;
      next += 1;
    }
    const fresh = added[next]?.term === term ? (added[next++]?.set ?? EMPTY_SET) : EMPTY_SET;
    const moving = intersectionOf(set, movedFrom);
    const isTouched = fresh.length > 0 || moving.length > 0 || sizeOf(intersectionOf(set, changed)) > 0;
    if (!isTouched) continue;
    const staying = differenceOf(differenceOf(set, changed), movedFrom);
    const merged = unionOf([staying, movedTo(moving, moved), fresh]);
    if (!isEqual(merged, set)) yield { term, set: merged };
  }
  yield* added.slice(next);
}

function movedTo(moving: PositionSet, moved: ReadonlyMap<number, number>): PositionSet {
  const positions = positionsFrom(moving, 0, sizeOf(moving)).map((position) => moved.get(position) ?? position);
  return setOf(Uint16Array.from(positions).sort());
}

function isEqual(one: PositionSet, other: PositionSet): boolean {
  return one.length === other.length && one.every((number, index) => number === other[index]);
}
