import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { MachineDescription } from '../machine/description.ts';

export type Unit =
  | 'requests/s'
  | 'records/s'
  | 'p50 ms'
  | 'p99 ms'
  | 'most ms'
  | 'ms'
  | 's'
  | 'MB'
  | 'MB for each million'
  | 'server CPU µs a request'
  | 'database CPU µs a request';

/** The figures of one unit for one candidate, work and market size. */
export interface Measurement {
  part: string;
  work: string;
  /** Number of solicitations in the market. */
  size: number;
  candidate: string;
  unit: Unit;
  /** One per round. */
  values: number[];
  /** Shown next to the figures. */
  remark?: string;
}

/** A measurement that failed or is not comparable, and why. */
export interface Gap {
  part: string;
  candidate: string;
  reason: string;
  /** Number of solicitations in the market. */
  size?: number | undefined;
}

/** The latest results of each part. */
export interface Results {
  measuredAt: Record<string, string>;
  machine: MachineDescription | null;
  settings: { rounds: number; seconds: number; connections: number } | null;
  measurements: Measurement[];
  gaps: Gap[];
}

export const RESULTS_NAME = 'results.json';
const RESULTS_FILE = fileURLToPath(new URL(`../${RESULTS_NAME}`, import.meta.url));

/** Reads the results of earlier runs; empty if there are none. */
export function readResults(file = RESULTS_FILE): Results {
  if (!existsSync(file)) return { measuredAt: {}, machine: null, settings: null, measurements: [], gaps: [] };
  return JSON.parse(readFileSync(file, 'utf8')) as Results;
}

/** Collects results and saves them after each part, so that an interrupted run loses at most one part. */
export class ResultsStore {
  readonly results: Results;
  readonly #file: string;
  #size: number | undefined;

  constructor(file = RESULTS_FILE) {
    this.#file = file;
    this.results = readResults(file);
  }

  /** Drops earlier results and gaps of this part at this size. */
  beginPart(part: string, size: number): void {
    const { results } = this;
    results.measurements = results.measurements.filter((one) => one.part !== part || one.size !== size);
    results.gaps = results.gaps.filter((gap) => gap.part !== part || gap.size !== size);
    this.#size = size;
  }

  add(measurement: Measurement): void {
    this.results.measurements.push(measurement);
  }

  addGap(gap: Gap): void {
    const isKnown = this.results.gaps.some(
      (known) => known.part === gap.part && known.candidate === gap.candidate && known.size === this.#size,
    );
    if (!isKnown) this.results.gaps.push({ ...gap, size: this.#size });
  }

  endPart(part: string): void {
    this.results.measuredAt[part] = new Date().toISOString();
    this.save();
  }

  save(): void {
    const rounded = (_: string, value: unknown): unknown =>
      typeof value === 'number' && !Number.isInteger(value) ? Number(value.toPrecision(5)) : value;
    writeFileSync(this.#file, `${JSON.stringify(this.results, rounded, 1)}\n`);
  }
}
