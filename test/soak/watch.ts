import { readdirSync, readFileSync } from 'node:fs';
import type { SoakMinute } from '../../bench/measure/nights.ts';
import { median, quantile } from '../../bench/measure/statistics.ts';

/** The resources that processes hold. */
export interface Held {
  readonly atMs: number;
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
  return { atMs: performance.now(), residentMb: Math.round((pages * 4096) / 100_000) / 10, descriptors };
}

/**
 * The growth of a series from its second quarter to its last, by their medians, so that a single peak does not matter.
 */
export function growthOf(series: readonly number[]): number {
  const quarter = Math.max(1, Math.floor(series.length / 4));
  return median(series.slice(-quarter)) - median(series.slice(quarter, 2 * quarter));
}

/** A response, and how long it took. */
export interface Response {
  readonly atMs: number;
  readonly tookMs: number;
}

/** Summarizes each whole minute since the start. */
export function summarizeMinutes(
  startedMs: number,
  minutes: number,
  held: readonly Held[],
  took: readonly Response[],
): SoakMinute[] {
  const minuteOf = ({ atMs }: { atMs: number }): number => Math.floor((atMs - startedMs) / 60_000);
  const heldIn = Map.groupBy(held, minuteOf);
  const tookIn = Map.groupBy(took, minuteOf);
  return Array.from({ length: Math.floor(minutes) }, (_, minute) => {
    const times = (tookIn.get(minute) ?? []).map(({ tookMs }) => tookMs);
    const of = (share: number): number => Math.round(10 * quantile(times, share)) / 10;
    const mb = Math.max(...(heldIn.get(minute) ?? []).map(({ residentMb }) => residentMb));
    return { mb, p50Ms: of(0.5), p99Ms: of(0.99), longestMs: of(1) };
  });
}
