import { LRUCache } from 'lru-cache';
import type { PositionSet } from './position-set.ts';

/** What an entry takes beside its set: the key, and the cache's own bookkeeping. */
const ENTRY_BYTES = 200;

/** Sets that were read or computed before, by block and condition; the least recently used go first. */
export class SetCache {
  readonly #sets: LRUCache<string, PositionSet>;

  /** @param maxBytes of all sets together, about. */
  constructor(maxBytes: number) {
    this.#sets = new LRUCache({
      maxSize: maxBytes,
      sizeCalculation: (set, key) => set.byteLength + 2 * key.length + ENTRY_BYTES,
    });
  }

  get(key: string): PositionSet | undefined {
    return this.#sets.get(key);
  }

  set(key: string, set: PositionSet): void {
    this.#sets.set(key, set);
  }
}
