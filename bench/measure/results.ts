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

/** Some figures of one kind: of one candidate, at one piece of work, on the market of one size. */
export interface Measurement {
  part: string;
  work: string;
  /** Solicitations in the market. */
  size: number;
  candidate: string;
  unit: Unit;
  /** One a round. */
  values: number[];
  /** Said beside it. */
  remark?: string;
}

/** What could not be measured, and why. */
export interface Gap {
  part: string;
  candidate: string;
  reason: string;
}

/** Everything that is known, of the parts that were run last. */
export interface Results {
  measuredAt: Record<string, string>;
  machine: MachineDescription | null;
  settings: { rounds: number; seconds: number; connections: number } | null;
  measurements: Measurement[];
  gaps: Gap[];
}

export const RESULTS_NAME = 'results.json';
const RESULTS_FILE = fileURLToPath(new URL(`../${RESULTS_NAME}`, import.meta.url));

/** Reads what earlier runs measured; nothing where there was none. */
export function readResults(file = RESULTS_FILE): Results {
  if (!existsSync(file)) return { measuredAt: {}, machine: null, settings: null, measurements: [], gaps: [] };
  return JSON.parse(readFileSync(file, 'utf8')) as Results;
}

/** Gathers what is measured, and keeps it in the file after each part: a run that is ended early loses one part at most. */
export class ResultsStore {
  readonly results: Results;
  readonly #file: string;

  constructor(file = RESULTS_FILE) {
    this.#file = file;
    this.results = readResults(file);
  }

  /** Forgets what this part measured before at this size. */
  beginPart(part: string, size: number): void {
    const { results } = this;
    results.measurements = results.measurements.filter((one) => one.part !== part || one.size !== size);
    results.gaps = results.gaps.filter((gap) => gap.part !== part);
  }

  add(measurement: Measurement): void {
    this.results.measurements.push(measurement);
  }

  addGap(gap: Gap): void {
    const isKnown = this.results.gaps.some((known) => known.part === gap.part && known.candidate === gap.candidate);
    if (!isKnown) this.results.gaps.push(gap);
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
