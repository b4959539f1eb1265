/**
 * A seeded random number generator (mulberry32). The same seed gives the same data on every machine, so that results
 * from different days are comparable.
 */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed | 0;
  }

  /** An integer from 0 (inclusive) to 2^32 (exclusive). */
  uint32(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return (mixed ^ (mixed >>> 14)) >>> 0;
  }

  /** A number from 0 (inclusive) to 1 (exclusive). */
  fraction(): number {
    return this.uint32() / 4_294_967_296;
  }

  /** An integer in a range, both ends inclusive. */
  integer(min: number, max: number): number {
    return min + Math.floor(this.fraction() * (max - min + 1));
  }

  chance(probability: number): boolean {
    return this.fraction() < probability;
  }

  pick<T>(values: readonly T[]): T {
    const value = values[Math.floor(this.fraction() * values.length)];
    if (value === undefined) throw new Error('nothing to pick from');
    return value;
  }

  /** Up to `count` distinct values from `draw`, in the order drawn. */
  distinct<T>(count: number, draw: () => T): T[] {
    const values = new Set<T>();
    for (let attempt = 0; values.size < count && attempt < 4 * count; attempt++) values.add(draw());
    return [...values];
  }

  /** Shuffles the values in place. */
  shuffle<T>(values: T[]): T[] {
    for (let last = values.length - 1; last > 0; last--) {
      const other = this.integer(0, last);
      [values[last], values[other]] = [values[other] as T, values[last] as T];
    }
    return values;
  }
}
