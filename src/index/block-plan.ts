import { MAX_COMPARED_ALONE } from './bit-slices.ts';
import {
  evaluate,
  intersectAll,
  termsOfValue,
  type Comparison,
  type Condition,
  type IndexBlock,
  type TermRange,
} from './evaluate.ts';
import { EMPTY_SET, intersectionOf, type PositionSet } from './position-set.ts';
import type { CachedSets, SetCache } from './set-cache.ts';

/** One version of an index block. */
export interface Block {
  readonly number: number;
  /** The block holds ids from this one up to the next block's first id. */
  readonly firstId: string;
  /** Prefix of the cache keys for this version of the block. */
  readonly key: string;
}

/** Rows to read: the sets of terms, or the terms of a range. */
interface Wanted {
  readonly terms?: readonly string[];
  readonly range?: TermRange;
}

/** The sets that a query needs of one block: cached ones, and those to read. */
export class BlockPlan implements IndexBlock {
  readonly block: Block;
  /** By key: a term, a range or a value. */
  readonly missing: ReadonlyMap<string, Wanted>;
  readonly #cache: SetCache;
  /** By the same keys, and by conditions' keys. Held here because the cache can evict sets before they are used. */
  readonly #sets = new Map<string, CachedSets>();

  constructor(block: Block, conditions: readonly Condition[], cache: SetCache) {
    this.block = block;
    this.#cache = cache;
    const missing = new Map<string, Wanted>();
    for (const { key, terms, ranges = [], comparison } of conditions) {
      if (this.#hold(key)) continue;
      for (const term of terms) if (!this.#hold(term)) missing.set(term, { terms: [term] });
      for (const range of ranges) missing.set(rangeKey(range), { range });
      if (comparison !== undefined && !this.#hold(valueKey(comparison))) {
        missing.set(valueKey(comparison), { terms: termsOfValue(comparison) });
      }
    }
    this.missing = missing;
  }

  /** Approximate number of rows to read. */
  get rows(): number {
    return [...this.missing.values()].reduce((sum, { terms }) => sum + (terms?.length ?? 1), 0);
  }

  /** Stores the missing sets, by term and by {@link rangeKey}. */
  take(setOf: (key: string) => PositionSet): void {
    for (const [key, { terms = [key], range }] of this.missing) {
      const sets = terms.map(setOf);
      this.#sets.set(key, sets);
      if (range === undefined) this.#cache.set(this.block.key + key, sets);
    }
  }

  /**
   * The records that meet all conditions; call it after `take`. Comparisons come last: if few records remain, only
   * those are compared.
   */
  meetAll(conditions: readonly Condition[]): PositionSet {
    const isFirst = ({ key, comparison }: Condition): boolean => comparison === undefined || this.#sets.has(key);
    const found = intersectAll(conditions.filter(isFirst).map((condition) => this.#setOf(condition)));
    const compared = conditions.filter((condition) => !isFirst(condition));
    return compared.reduce((among, condition) => {
      if (among.length > MAX_COMPARED_ALONE) return intersectionOf(among, this.#setOf(condition));
      return intersectionOf(among, evaluate(this, condition, among));
    }, found);
  }

  get(term: string): PositionSet {
    return this.#read(term)[0] ?? EMPTY_SET;
  }

  getRange(range: TermRange): PositionSet {
    return this.#read(rangeKey(range))[0] ?? EMPTY_SET;
  }

  getSlices(comparison: Comparison): CachedSets {
    return this.#read(valueKey(comparison));
  }

  #setOf(condition: Condition): PositionSet {
    const [cached] = this.#sets.get(condition.key) ?? [];
    if (cached !== undefined) return cached;
    const set = evaluate(this, condition);
    this.#cache.set(this.block.key + condition.key, [set]);
    return set;
  }

  #read(key: string): CachedSets {
    const sets = this.#sets.get(key);
    if (sets === undefined) throw new Error(`the sets of ${key} were not read`);
    return sets;
  }

  #hold(key: string): boolean {
    const cached = this.#cache.get(this.block.key + key);
    if (cached !== undefined) this.#sets.set(key, cached);
    return cached !== undefined;
  }
}

/** Unambiguous: no term contains a line feed. */
export function rangeKey({ from, to }: TermRange): string {
  return `${from}\n${to}`;
}

/** Unambiguous: no term ends with a number sign. */
function valueKey({ name }: Comparison): string {
  return `${name}#`;
}
