import type { Figure, PartResults, Results, Unit } from '../measure/results.ts';
import { median, quantile } from '../measure/statistics.ts';

/** One server at one work. */
export interface Row {
  work: string;
  candidate: string;
}

/** Looks up medians in the results of the parts. */
export class Figures {
  readonly #parts: readonly PartResults[];

  constructor({ parts }: Results) {
    this.#parts = parts;
  }

  /** The sizes at which a part was measured, ascending. */
  sizesOf(part: string): number[] {
    return this.#resultsOf(part)
      .map(({ size }) => size)
      .sort((a, b) => a - b);
  }

  /** Every server and work of a part that has a figure of one of the units, works together. */
  rowsOf(part: string, units: readonly Unit[], isWanted: (row: Row) => boolean = () => true): Row[] {
    const rows = new Map<string, Row>();
    const all = this.#resultsOf(part).flatMap(({ figures }) => figures);
    for (const { work, candidate, unit } of all) {
      if (units.includes(unit) && isWanted({ work, candidate })) rows.set(`${work}\t${candidate}`, { work, candidate });
    }
    const works = [...new Set([...rows.values()].map(({ work }) => work))];
    return works.flatMap((work) => [...rows.values()].filter((row) => row.work === work));
  }

  /** The median of the rounds; null if it was not measured. */
  find(part: string, size: number, row: Row, unit: Unit): number | null {
    const values = this.valuesOf(part, [size], row, unit);
    return values.length === 0 ? null : median(values);
  }

  /** The values of all rounds at these sizes. */
  valuesOf(part: string, sizes: readonly number[], { work, candidate }: Row, unit: Unit): number[] {
    return this.#resultsOf(part)
      .filter(({ size }) => sizes.includes(size))
      .flatMap(({ figures }) => figures)
      .filter((one) => one.work === work && one.candidate === candidate && one.unit === unit)
      .flatMap(({ values }) => values);
  }

  /** How much the rounds of a figure differ: the range as a share of the median, at two quantiles of all figures. */
  spread(unit: Unit): { half: number; nineTenths: number } | null {
    const isRepeated = (figure: Figure): boolean => figure.unit === unit && figure.values.length > 1;
    const spreads = this.#parts
      .flatMap(({ figures }) => figures.filter(isRepeated))
      .map(({ values }) => (Math.max(...values) - Math.min(...values)) / median(values));
    return spreads.length === 0 ? null : { half: median(spreads), nineTenths: quantile(spreads, 0.9) };
  }

  #resultsOf(part: string): PartResults[] {
    return this.#parts.filter((one) => one.part === part);
  }
}

/** Formats a number with about three significant digits and thousands separators. */
export function readable(value: number): string {
  const size = Math.abs(value);
  const digitsBelow100 = size >= 10 ? 1 : 2;
  const digits = size >= 100 ? 0 : digitsBelow100;
  return value.toLocaleString('en-US', { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

/** Formats a market size, such as `10 thousand`. */
export function sizeText(size: number): string {
  if (size >= 1_000_000) return `${size / 1_000_000} million`;
  return size >= 1_000 ? `${size / 1_000} thousand` : String(size);
}
