import { comparer, compareSlices, MAX_COMPARED_ALONE, sliceTerms } from './bit-slices.ts';
import type { Comparison, Condition, TermRange } from './conditions.ts';
import { contains, EMPTY_SET, intersectionOf, positionsFrom, unionOf, type PositionSet } from './position-set.ts';
import { LRUCache } from 'lru-cache';

/** If this many records do not fill the page, the whole block is evaluated. */
const MAX_EXAMINED = 512;

const NO_CONDITION = 'a query needs a condition';

/** One version of an index block. */
export interface Block {
  readonly number: number;
  /** The block holds ids from this one up to the next block's first id. */
  readonly firstId: string;
  /** Prefix of the cache keys for this version of the block. */
  readonly prefix: string;
}

/** Index rows to read: those of some terms, or of all terms in a range. */
interface RowsToRead {
  readonly terms?: readonly string[];
  readonly range?: TermRange;
}

/** Evaluates conditions on one block: finds which sets are cached, takes the others, and intersects. */
export class BlockQuery {
  readonly block: Block;
  /** The rows to read before {@link match} or {@link first}, by the key of their set. */
  readonly missing = new Map<string, RowsToRead>();
  #conditions: readonly Condition[];
  readonly #cache: SetCache;
  /** Sets by key: of conditions, terms, ranges and values. The cache alone could evict them before they are used. */
  readonly #sets = new Map<string, CachedSets>();

  constructor(block: Block, conditions: readonly Condition[], cache: SetCache) {
    this.block = block;
    this.#conditions = conditions;
    this.#cache = cache;
    for (const condition of conditions) {
      const { key, terms, ranges = [], comparison } = condition;
      if (this.#isCached(key)) {
        if (this.#setOf(condition).length > 0) continue;
        // Nothing in the block can match, so the other sets need not be read.
        this.#conditions = [condition];
        this.missing.clear();
        break;
      }
      for (const term of terms) if (!this.#isCached(term)) this.missing.set(term, { terms: [term] });
      for (const [index, range] of ranges.entries()) this.missing.set(rangeKey(key, index), { range });
      if (comparison !== undefined && !this.#isCached(valueKey(comparison))) {
        this.missing.set(valueKey(comparison), { terms: termsOfValue(comparison) });
      }
    }
  }

  /** Approximate number of rows to read. */
  get rows(): number {
    let rows = 0;
    for (const { terms } of this.missing.values()) rows += terms?.length ?? 1;
    return rows;
  }

  /** @param setOf the set of a term, or the union of a range's sets by its key in {@link missing}. */
  take(setOf: (key: string) => PositionSet): void {
    for (const [key, { terms = [key], range }] of this.missing) {
      const sets = terms.map(setOf);
      this.#sets.set(key, sets);
      if (range === undefined) this.#cache.set(this.block.prefix + key, sets);
    }
  }

  /**
   * The records that meet all conditions. Takes microseconds; a comparison up to a fifth of a millisecond. Comparisons
   * come last: if few records remain, only those are compared.
   *
   * @throws Error if there is no condition.
   */
  match(): PositionSet {
    const isFirst = ({ key, comparison }: Condition): boolean => comparison === undefined || this.#sets.has(key);
    // Smallest first: once the result is empty, the others cost nothing.
    const sets = this.#conditions
      .filter(isFirst)
      .map((condition) => this.#setOf(condition))
      .sort((one, other) => one.byteLength - other.byteLength);
    let found: PositionSet | null = null;
    for (const set of sets) found = intersect(found, set);
    for (const condition of this.#conditions.filter((other) => !isFirst(other))) {
      const isFewLeft = found !== null && found.length <= MAX_COMPARED_ALONE;
      found = intersect(found, isFewLeft ? this.#evaluate(condition, found) : this.#setOf(condition));
    }
    if (found === null) throw new Error(NO_CONDITION);
    return found;
  }

  /**
   * The first of these records, from a position on. Examines the smallest set's records one by one, because most pages
   * are full after a few; if this one is not, it evaluates the whole block.
   *
   * @throws Error if there is no condition.
   */
  first(from: number, limit: number): number[] {
    const sets: PositionSet[] = [];
    const tests: ((position: number) => boolean)[] = [];
    for (const condition of this.#conditions) {
      const { key, terms, ranges, comparison } = condition;
      if (comparison === undefined || terms.length > 0 || ranges !== undefined || this.#sets.has(key)) {
        sets.push(this.#setOf(condition));
      } else {
        const [present = EMPTY_SET, ...slices] = this.#read(valueKey(comparison));
        sets.push(present);
        tests.push(comparer(slices, comparison.comparison, comparison.bound));
      }
    }
    const [smallest, ...others] = sets.sort((one, other) => one.byteLength - other.byteLength);
    if (smallest === undefined) throw new Error(NO_CONDITION);
    const found: number[] = [];
    const examined = positionsFrom(smallest, from, MAX_EXAMINED);
    for (const position of examined) {
      if (!others.every((set) => contains(set, position)) || !tests.every((test) => test(position))) continue;
      if (found.push(position) === limit) return found;
    }
    return examined.length < MAX_EXAMINED ? found : positionsFrom(this.match(), from, limit);
  }

  #setOf(condition: Condition): PositionSet {
    const [cached] = this.#sets.get(condition.key) ?? [];
    if (cached !== undefined) return cached;
    const set = this.#evaluate(condition);
    if (condition.isOfOneRequest !== true) this.#cache.set(this.block.prefix + condition.key, [set]);
    return set;
  }

  /** @param among limits a comparison to these records: comparing a few is faster than comparing all. */
  #evaluate(condition: Condition, among: PositionSet | null = null): PositionSet {
    const { key, terms, ranges = [], comparison } = condition;
    const sets = [...terms, ...ranges.map((_, index) => rangeKey(key, index))].flatMap((part) => this.#read(part));
    if (comparison !== undefined) {
      const [present = EMPTY_SET, ...slices] = this.#read(valueKey(comparison));
      sets.push(compareSlices(intersect(among, present), slices, comparison.comparison, comparison.bound));
    }
    return unionOf(sets);
  }

  #read(key: string): CachedSets {
    const sets = this.#sets.get(key);
    if (sets === undefined) throw new Error(`the sets of ${key} were not read`);
    return sets;
  }

  #isCached(key: string): boolean {
    const cached = this.#cache.get(this.block.prefix + key);
    if (cached !== undefined) this.#sets.set(key, cached);
    return cached !== undefined;
  }
}

/** @param among null for all records. */
function intersect(among: PositionSet | null, set: PositionSet): PositionSet {
  if (among === null) return set;
  return among.length === 0 ? among : intersectionOf(among, set);
}

/** The terms whose sets are a value's: of the records that have it, then of each bit, lowest first. */
function termsOfValue({ name, present, width }: Comparison): string[] {
  return [present, ...sliceTerms(name, width)];
}

/** Unambiguous: no term or condition's key contains a line feed. */
function rangeKey(condition: string, index: number): string {
  return `${condition}\n${index}`;
}

/** Unambiguous: no term ends with a number sign. */
function valueKey({ name }: Comparison): string {
  return `${name}#`;
}

/** Overhead per set: the object and the cache's bookkeeping. */
const ENTRY_BYTES = 200;

/** A term's or condition's single set, or the sets of a value. */
type CachedSets = readonly PositionSet[];

/** An LRU cache of sets, by block and condition. All indexes of a process share one. */
export class SetCache extends LRUCache<string, CachedSets> {
  /** @param maxBytes approximate size of all sets. */
  constructor(maxBytes: number) {
    super({
      maxSize: maxBytes,
      sizeCalculation: (sets, key) =>
        sets.reduce((sum, { byteLength }) => sum + byteLength, 2 * key.length + ENTRY_BYTES * sets.length),
    });
  }
}
