import { LRUCache } from 'lru-cache';
import type { PositionSet } from './position-set.ts';

/** Overhead per set: the object and the cache's bookkeeping. */
const ENTRY_BYTES = 200;

/** A term's or condition's single set, or the sets of a value. */
export type CachedSets = readonly PositionSet[];

/** An LRU cache of sets, by block and condition. */
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
