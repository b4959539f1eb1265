const DAY_MS = 86_400_000;

/** Everything in the data was created before this instant; deadlines reach beyond it. */
const END_MS = Date.parse('2026-11-01T00:00:00.000Z');

/** First and last year in which a solicitation was made. */
export const FIRST_YEAR = 2016;
export const LAST_YEAR = 2026;

/** Milliseconds of a moment in the year, `fraction` of the way through what the data holds of it. */
export function momentOf(year: number, fraction: number): number {
  const start = Date.UTC(year, 0, 1);
  const end = Math.min(Date.UTC(year + 1, 0, 1), END_MS - DAY_MS);
  return start + Math.floor(fraction * (end - start));
}

/** The instant so many days after a moment, on a full hour. */
export function daysAfter(moment: number, days: number): string {
  return new Date(Math.floor((moment + days * DAY_MS) / 3_600_000) * 3_600_000).toISOString();
}

/** The earlier of that instant and the end of the data. */
export function pastDaysAfter(moment: number, days: number): string {
  return new Date(Math.min(moment + days * DAY_MS, END_MS)).toISOString();
}
