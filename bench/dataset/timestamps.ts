const DAY_MS = 86_400_000;

/** All records were created before this time; deadlines extend beyond it. */
const END_MS = Date.parse('2026-11-01T00:00:00.000Z');

/** The first and last year in which solicitations were created. */
export const FIRST_YEAR = 2016;
export const LAST_YEAR = 2026;

/** A time in a year in milliseconds since 1970, `fraction` of the way through the part that the data covers. */
export function momentOf(year: number, fraction: number): number {
  const start = Date.UTC(year, 0, 1);
  const end = Math.min(Date.UTC(year + 1, 0, 1), END_MS - DAY_MS);
  return start + Math.floor(fraction * (end - start));
}

/** The ISO timestamp `days` after a time, rounded down to a full hour. */
export function daysAfter(moment: number, days: number): string {
  return new Date(Math.floor((moment + days * DAY_MS) / 3_600_000) * 3_600_000).toISOString();
}

/** The ISO timestamp `days` after a time, but at most the end of the data. */
export function pastDaysAfter(moment: number, days: number): string {
  return new Date(Math.min(moment + days * DAY_MS, END_MS)).toISOString();
}
