import { LRUCache } from 'lru-cache';
import type { PositionSet } from './position-set.ts';

/** Overhead per set: the object and the cache's bookkeeping. */
const ENTRY_BYTES = 200;

/** A term's or condition's single set, or the sets of a value. */
export type CachedSets = readonly PositionSet[];

/** An LRU cache of sets, by block and condition. All indexes of a process share one. */
export class SetCache extends LRUCache<string, CachedSets> {
  #blocks = 0;

  /** @param maxBytes approximate size of all sets. */
  constructor(maxBytes: number) {
    super({
      maxSize: maxBytes,
      sizeCalculation: (sets, key) =>
        sets.reduce((sum, { byteLength }) => sum + byteLength, 2 * key.length + ENTRY_BYTES * sets.length),
    });
  }

  /** A new prefix for the keys of one version of a block. Short, because a page looks up several sets per block. */
  nextPrefix(): string {
    this.#blocks += 1;
    return `${this.#blocks} `;
  }
}
