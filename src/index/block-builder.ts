import { at, setOf, type PositionSet } from './position-set.ts';

const INITIAL_PAIRS = 65_536;

/** A row of the index: the positions of a block at which records have a term. */
export interface IndexEntry {
  readonly term: string;
  readonly set: PositionSet;
}

/**
 * Collects the terms of a block's records, and turns them into the rows of the index. Holds six
 * bytes for each term of a record.
 */
export class BlockBuilder {
  readonly #termIds = new Map<string, number>();
  /** The position that each term was added for last, so that a repeated term counts once. */
  readonly #lastPositions: number[] = [];
  #pairTerms = new Uint32Array(INITIAL_PAIRS);
  #pairPositions = new Uint16Array(INITIAL_PAIRS);
  #pairs = 0;

  /** Memory held by what was added, in bytes. */
  get bytes(): number {
    return this.#pairs * (Uint32Array.BYTES_PER_ELEMENT + Uint16Array.BYTES_PER_ELEMENT);
  }

  /** Adds all terms of one record; a term that comes twice counts once. */
  add(position: number, terms: Iterable<string>): void {
    for (const term of terms) {
      const id = this.#idOf(term);
      if (this.#lastPositions[id] === position) continue;
      this.#lastPositions[id] = position;
      if (this.#pairs === this.#pairTerms.length) this.#grow();
      this.#pairTerms[this.#pairs] = id;
      this.#pairPositions[this.#pairs] = position;
      this.#pairs += 1;
    }
  }

  /** The rows, ordered by term as both databases order them. The builder is spent afterwards. */
  build(): IndexEntry[] {
    const terms = [...this.#termIds.keys()];
    const positions = this.#positionsByTerm(terms.length);
    return terms
      .map((term, id) => ({ term, set: setOf(positions[id] ?? new Uint16Array(0)) }))
      .sort((one, other) => compareBytewise(one.term, other.term));
  }

  /** A counting sort: the positions of each term, ascending. */
  #positionsByTerm(terms: number): Uint16Array[] {
    const ends = new Uint32Array(terms);
    for (let pair = 0; pair < this.#pairs; pair += 1) {
      const id = at(this.#pairTerms, pair);
      ends[id] = at(ends, id) + 1;
    }
    const starts = new Uint32Array(terms);
    for (let id = 1; id < terms; id += 1) starts[id] = at(starts, id - 1) + at(ends, id - 1);
    ends.set(starts);
    const sorted = new Uint16Array(this.#pairs);
    for (let pair = 0; pair < this.#pairs; pair += 1) {
      const id = at(this.#pairTerms, pair);
      sorted[at(ends, id)] = at(this.#pairPositions, pair);
      ends[id] = at(ends, id) + 1;
    }
    // Records that came out of order leave positions out of order.
    return Array.from(starts, (start, id) => sorted.subarray(start, ends[id]).sort());
  }

  #idOf(term: string): number {
    const known = this.#termIds.get(term);
    if (known !== undefined) return known;
    const id = this.#termIds.size;
    this.#termIds.set(term, id);
    this.#lastPositions.push(-1);
    return id;
  }

  #grow(): void {
    const terms = new Uint32Array(this.#pairs * 2);
    const positions = new Uint16Array(this.#pairs * 2);
    terms.set(this.#pairTerms);
    positions.set(this.#pairPositions);
    this.#pairTerms = terms;
    this.#pairPositions = positions;
  }
}

/** The order of UTF-8 bytes, which JavaScript's order of UTF-16 units differs from beyond U+FFFF. */
export function compareBytewise(one: string, other: string): number {
  if (one === other) return 0;
  const length = Math.min(one.length, other.length);
  for (let index = 0; index < length; index += 1) {
    const [left, right] = [one.charCodeAt(index), other.charCodeAt(index)];
    if (left === right) continue;
    const areSurrogates = [isSurrogate(left), isSurrogate(right)];
    if (areSurrogates[0] !== areSurrogates[1]) return areSurrogates[0] === true ? 1 : -1;
    return left - right;
  }
  return one.length - other.length;
}

function isSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdfff;
}
