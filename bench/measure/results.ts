import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { describeSources, isSameMachine, type MachineDescription } from '../machine/description.ts';
import type { Engine } from '../market/databases.ts';
import { note } from './progress.ts';

export type Unit =
  | 'requests/s'
  | 'records/s'
  | 'p50 ms'
  | 'p99 ms'
  | 'longest ms'
  | 'requests'
  | 's'
  | 'MB'
  | 'CPU s'
  | 'CPU µs'
  | 'server CPU µs'
  | 'database CPU µs';

/** The figures of one unit for one server and work. */
export interface Figure {
  work: string;
  candidate: string;
  unit: Unit;
  /** One per round. */
  values: number[];
}

/** How thoroughly a part was measured. */
export interface Thoroughness {
  engines: readonly Engine[];
  withPeers: boolean;
  rounds: number;
  seconds: number;
  connections: number;
  samples: number;
}

/** The results of one part at one market size. */
export interface PartResults {
  part: string;
  /** Number of solicitations in the market. */
  size: number;
  measuredAt: string;
  commit: string;
  sources: string;
  thoroughness: Thoroughness;
  figures: Figure[];
  /** Measurements that failed or were not comparable, with the reason. */
  problems: string[];
}

/** All results of one machine. */
export interface Results {
  machine: MachineDescription | null;
  parts: PartResults[];
}

export const RESULTS_NAME = 'results.json';

/** Reads the results of earlier runs; empty if there are none. */
export function readResults(file: string): Results {
  if (!existsSync(file)) return { machine: null, parts: [] };
  return JSON.parse(readFileSync(file, 'utf8')) as Results;
}

/** Collects the figures of one part. */
export class Recorder {
  readonly figures: Figure[] = [];
  readonly problems: string[] = [];
  readonly #isSmoke: boolean;

  constructor({ isSmoke }: { isSmoke: boolean }) {
    this.#isSmoke = isSmoke;
  }

  /** Adds the values of one round. */
  add(work: string, candidate: string, values: Partial<Record<Unit, number>>): void {
    const entries = Object.entries(values).filter(([, value]) => !Number.isNaN(value)) as [Unit, number][];
    for (const [unit, value] of entries) {
      const known = this.figures.find(
        (figure) => figure.work === work && figure.candidate === candidate && figure.unit === unit,
      );
      if (known === undefined) this.figures.push({ work, candidate, unit, values: [value] });
      else known.values.push(value);
    }
    note(
      `${work}, ${candidate}: ${entries.map(([unit, value]) => `${Number(value.toPrecision(4)).toLocaleString('en-US')} ${unit}`).join(', ')}`,
    );
  }

  /** Adds what failed or is not comparable. @throws Error in a smoke run, which it ends. */
  problem(candidate: string, reason: string): void {
    const text = `${candidate}: ${reason.replace(/\s+/g, ' ')}`;
    if (this.#isSmoke) throw new Error(text);
    note(text);
    if (!this.problems.includes(text)) this.problems.push(text);
  }
}

/** Saves results after each part, so that an interrupted run loses at most one part. */
export class ResultsStore {
  readonly results: Results;
  readonly #file: string;
  readonly #sources = describeSources();

  constructor(file: string) {
    this.#file = file;
    this.results = readResults(file);
  }

  /** Drops the results of another kind of machine, or with other versions: a report never mixes two machines. */
  beginOn(machine: MachineDescription): void {
    const before = this.results.machine;
    if (before !== null && !isSameMachine(before, machine)) {
      note(`dropping ${this.results.parts.length} results of another machine: ${JSON.stringify(before)}`);
      this.results.parts = [];
    }
    this.results.machine = machine;
  }

  /** Whether a part was already measured as thoroughly, on this machine and from the same sources. */
  has(part: string, size: number, thoroughness: Thoroughness): boolean {
    return this.results.parts.some(
      (one) =>
        one.part === part &&
        one.size === size &&
        one.sources === this.#sources.sources &&
        JSON.stringify(one.thoroughness) === JSON.stringify(thoroughness),
    );
  }

  /** Replaces the results of a part at a size. */
  put(part: string, size: number, thoroughness: Thoroughness, { figures, problems }: Recorder): void {
    this.results.parts = this.results.parts.filter((one) => one.part !== part || one.size !== size);
    const measuredAt = new Date().toISOString();
    this.results.parts.push({ part, size, measuredAt, ...this.#sources, thoroughness, figures, problems });
    const rounded = (_: string, value: unknown): unknown =>
      typeof value === 'number' && !Number.isInteger(value) ? Number(value.toPrecision(5)) : value;
    writeFileSync(this.#file, `${JSON.stringify(this.results, rounded, 1)}\n`);
  }
}
