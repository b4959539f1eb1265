import type { Random } from './random.ts';

/** The size of the lookup table: a rank with a probability of one in a million still gets an entry. */
const TABLE_SIZE = 1 << 20;

/** Draws ranks 0, 1, 2 … with probabilities proportional to 1 / (rank + 1) ^ exponent. */
export class ZipfRanks {
  readonly #table = new Uint32Array(TABLE_SIZE);

  constructor(ranks: number, exponent = 1) {
    const shares = zipfShares(ranks, exponent);
    let cumulative = 0;
    let filled = 0;
    shares.forEach((share, rank) => {
      cumulative += share;
      const end = Math.round(cumulative * TABLE_SIZE);
      this.#table.fill(rank, filled, end);
      filled = Math.max(filled, end);
    });
  }

  draw(random: Random): number {
    return this.#table[random.uint32() & (TABLE_SIZE - 1)] ?? 0;
  }
}

/** The share of each rank; they sum to 1. */
export function zipfShares(ranks: number, exponent = 1): number[] {
  const weights = Array.from({ length: ranks }, (_, rank) => (rank + 1) ** -exponent);
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  return weights.map((weight) => weight / total);
}
