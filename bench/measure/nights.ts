import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Engine } from '../market/databases.ts';

/** Random histories that a night compared with the model, from a seed on. */
export interface PassedHistories {
  readonly engine: Engine;
  readonly seed: number;
  readonly histories: number;
  readonly steps: number;
  /** Syncs that were read to their end and compared. */
  readonly syncs: number;
}

/** The largest value that a night saw of what is promised to have a limit. */
export interface Bound {
  readonly bound: string;
  readonly engine: Engine;
  readonly unit: 'ms' | 'MB';
  readonly max: number;
  readonly trials: number;
}

/** Everything partners and operators do, at the same time and for long; every response was as it had to be. */
export interface PassedSoak {
  readonly engine: Engine;
  readonly processes: number;
  readonly requests: number;
  readonly imports: number;
  readonly byMinute: readonly SoakMinute[];
}

/** The largest memory of all processes together, and the times of requests. */
export interface SoakMinute {
  readonly mb: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly longestMs: number;
}

type Seen = PassedHistories | Bound | PassedSoak;
export type Night = { readonly version: string; readonly at: string } & Seen;

const FILE = fileURLToPath(new URL('../nights.ndjson', import.meta.url));
const PACKAGE = new URL('../../package.json', import.meta.url);

/** Prints what a night saw, and with `RECORD=1` appends it to `bench/nights.ndjson`, which the report reads. */
export function recordNight(seen: Seen): void {
  const { version } = JSON.parse(readFileSync(PACKAGE, 'utf8')) as { version: string };
  const line = `${JSON.stringify({ version, at: new Date().toISOString().slice(0, 10), ...seen })}\n`;
  process.stdout.write(line);
  // One write, since tests of both engines append at the same time.
  if (process.env['RECORD'] === '1') appendFileSync(FILE, line);
}

/** All that was recorded, the oldest first. */
export function readNights(): Night[] {
  if (!existsSync(FILE)) return [];
  const lines = readFileSync(FILE, 'utf8').split('\n').slice(0, -1);
  return lines.map((line) => JSON.parse(line) as Night);
}
