import type { Measurement, Results, Unit } from '../measure/results.ts';
import { median } from '../measure/statistics.ts';
import { SKEWED_PART } from '../parts/part-names.ts';

/** Identifies a figure. */
export interface FigureKey {
  part: string;
  work: string;
  candidate: string;
  unit: Unit;
  size?: number;
}

/** Looks up measurements. */
export class Figures {
  readonly all: readonly Measurement[];

  constructor({ measurements }: Results) {
    this.all = measurements;
  }

  /** The measured market sizes, ascending. */
  get marketSizes(): number[] {
    const sizes = this.all.filter(({ part }) => part !== SKEWED_PART.part).map(({ size }) => size);
    return [...new Set(sizes)].sort((a, b) => a - b);
  }

  /** Returns the median, at the largest measured size if `size` is omitted; null if there is no measurement. */
  find({ part, work, candidate, unit, size }: FigureKey): number | null {
    const found = this.all
      .filter((one) => one.part === part && one.work === work && one.candidate === candidate && one.unit === unit)
      .filter((one) => size === undefined || one.size === size)
      .sort((a, b) => b.size - a.size)[0];
    return found === undefined || found.values.length === 0 ? null : median(found.values);
  }

  /** The sizes at which a part was measured, ascending. */
  sizesOf(part: string): number[] {
    const sizes = this.all.filter((one) => one.part === part).map(({ size }) => size);
    return [...new Set(sizes)].sort((a, b) => a - b);
  }
}

/** Formats a number with about three significant digits and thousands separators. */
export function readable(value: number): string {
  if (!Number.isFinite(value)) return '–';
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  return value.toLocaleString('en-US', { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

/** Formats the median, with minimum and maximum if there is more than one value. */
export function withSpread(values: readonly number[]): string {
  const middle = readable(median(values));
  return values.length < 2 ? middle : `${middle} (${readable(Math.min(...values))}–${readable(Math.max(...values))})`;
}

/** Formats a market size, such as `10 thousand`. */
export function sizeText(size: number): string {
  if (size >= 1_000_000) return `${size / 1_000_000} million`;
  return size >= 1_000 ? `${size / 1_000} thousand` : String(size);
}
