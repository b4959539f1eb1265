import type { Measurement, Results, Unit } from '../measure/results.ts';
import { median } from '../measure/statistics.ts';
import { SKEWED_PART } from '../parts/part-names.ts';

/** What a figure is looked up by. */
export interface FigureKey {
  part: string;
  work: string;
  candidate: string;
  unit: Unit;
  size?: number;
}

/** Looks up what was measured. */
export class Figures {
  readonly all: readonly Measurement[];

  constructor({ measurements }: Results) {
    this.all = measurements;
  }

  /** The sizes of the markets that were measured, the smallest first. */
  get marketSizes(): number[] {
    const sizes = this.all.filter(({ part }) => part !== SKEWED_PART.part).map(({ size }) => size);
    return [...new Set(sizes)].sort((a, b) => a - b);
  }

  /** The median; of the largest size where none is asked for. Null where it was not measured. */
  find({ part, work, candidate, unit, size }: FigureKey): number | null {
    const found = this.all
      .filter((one) => one.part === part && one.work === work && one.candidate === candidate && one.unit === unit)
      .filter((one) => size === undefined || one.size === size)
      .sort((a, b) => b.size - a.size)[0];
    return found === undefined || found.values.length === 0 ? null : median(found.values);
  }

  /** The sizes at which a part was measured, the smallest first. */
  sizesOf(part: string): number[] {
    const sizes = this.all.filter((one) => one.part === part).map(({ size }) => size);
    return [...new Set(sizes)].sort((a, b) => a - b);
  }
}

/** A number as people read it: three digits that matter, thousands set apart. */
export function readable(value: number): string {
  if (!Number.isFinite(value)) return '–';
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  return value.toLocaleString('en-US', { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

/** The median, with the smallest and the largest where there is more than one. */
export function withSpread(values: readonly number[]): string {
  const middle = readable(median(values));
  return values.length < 2 ? middle : `${middle} (${readable(Math.min(...values))}–${readable(Math.max(...values))})`;
}

/** A number of solicitations in words. */
export function sizeText(size: number): string {
  if (size >= 1_000_000) return `${size / 1_000_000} million`;
  return size >= 1_000 ? `${size / 1_000} thousand` : String(size);
}
