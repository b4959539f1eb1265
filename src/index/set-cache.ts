import { LRUCache } from 'lru-cache';
import type { PositionSet } from './position-set.ts';

/** What a set takes beside its bytes, and the cache's own bookkeeping. */
const ENTRY_BYTES = 200;

/** The set of a term or condition alone, or the sets of a value. */
export type CachedSets = readonly PositionSet[];

/** Sets that were read or computed before, by block and condition; the least recently used go first. */
export class SetCache extends LRUCache<string, CachedSets> {
  /** @param maxBytes of all sets together, about. */
  constructor(maxBytes: number) {
    super({
      maxSize: maxBytes,
      sizeCalculation: (sets, key) =>
        sets.reduce((sum, { byteLength }) => sum + byteLength, 2 * key.length + ENTRY_BYTES * sets.length),
    });
  }
}
