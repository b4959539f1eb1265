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

/** A block of the index in one state. */
export interface Block {
  readonly number: number;
  /** Records from this id on, to the first of the next block, are in here. */
  readonly firstId: string;
  /** Begins the keys of all that is cached of this block in this state. */
  readonly key: string;
}

/** What has to be read: the sets of terms, or the terms of a range. */
interface Wanted {
  readonly terms?: readonly string[];
  readonly range?: TermRange;
}

/** What a query needs of one block: sets from the cache, and those that have to be read. */
export class BlockPlan implements IndexBlock {
  readonly block: Block;
  /** By the keys of what has to be read: a term, a range or a value. */
  readonly missing: ReadonlyMap<string, Wanted>;
  readonly #cache: SetCache;
  /** By the same keys, and by those of conditions. Held here because the cache may drop them before they are used. */
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

  /** How many rows have to be read, about. */
  get rows(): number {
    return [...this.missing.values()].reduce((sum, { terms }) => sum + (terms?.length ?? 1), 0);
  }

  /** Takes what was missing, by term and by {@link rangeKey}. */
  take(setOf: (key: string) => PositionSet): void {
    for (const [key, { terms = [key], range }] of this.missing) {
      const sets = terms.map(setOf);
      this.#sets.set(key, sets);
      if (range === undefined) this.#cache.set(this.block.key + key, sets);
    }
  }

  /**
   * The records that meet all conditions, once everything was taken. Conditions without a comparison come first: if they
   * leave few records, only these are compared.
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

/** No term holds a line feed. */
export function rangeKey({ from, to }: TermRange): string {
  return `${from}\n${to}`;
}

/** No term ends with a number sign. */
function valueKey({ name }: Comparison): string {
  return `${name}#`;
}
