import { readdirSync, readFileSync } from 'node:fs';

/** The resources that processes hold. */
export interface Held {
  readonly residentMb: number;
  readonly descriptors: number;
}

/** The total for these processes. */
export function heldBy(pids: readonly number[]): Held {
  let pages = 0;
  let descriptors = 0;
  for (const pid of pids) {
    pages += Number(readFileSync(`/proc/${pid}/statm`, 'utf8').split(' ')[1]);
    descriptors += readdirSync(`/proc/${pid}/fd`).length;
  }
  return { residentMb: Math.round((pages * 4096) / 100_000) / 10, descriptors };
}

/**
 * The growth of a series from its second quarter to its last, by their medians, so that a single peak does not matter.
 */
export function growthOf(series: readonly number[]): number {
  const quarter = Math.max(1, Math.floor(series.length / 4));
  return median(series.slice(-quarter)) - median(series.slice(quarter, 2 * quarter));
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}
