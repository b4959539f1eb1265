/** Milliseconds since 1970, UTC. Passed in wherever time matters, so that tests can set it. */
export type Clock = () => number;

export const DAY_MS = 86_400_000;

export const EPOCH = '1970-01-01T00:00:00.000Z';

// RFC 3339 section 5.6, upper- or lower-case letters.
const RFC_3339 = /^(\d{4})-(\d{2})-(\d{2})[Tt](\d{2}):(\d{2}):(\d{2})(?:\.(\d+))?(?:[Zz]|([+-])(\d{2}):(\d{2}))$/;

/**
 * Fast path: a UTC timestamp with seconds or milliseconds, on a day that every such month has (up to the 30th, in
 * February the 28th). An import reads many of them twice, and building a `Date` for each took several times as long.
 */
const USUAL =
  /^\d{4}-(?:(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])|(?:0[13-9]|1[0-2])-(?:29|30))T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{3})?Z$/;

/**
 * Parses an RFC 3339 timestamp into the form that is stored, compared and served: UTC with milliseconds, always 24
 * characters, so that text order is time order. Finer fractions are truncated.
 *
 * @returns null if the text is not a timestamp (no offset, no time, an impossible date), or if its offset moves it out
 *   of the years 0000 to 9999, which this form cannot express.
 */
export function parseTimestamp(text: string): string | null {
  if (USUAL.test(text)) return text.includes('.') ? text : `${text.slice(0, -1)}.000Z`;
  const match = RFC_3339.exec(text);
  if (match === null) return null;
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = match.slice(1, 7).map(Number);
  const [fraction = '', sign, offsetHour = '0', offsetMinute = '0'] = match.slice(7);
  if (hour > 23 || minute > 59 || Number(offsetHour) > 23 || Number(offsetMinute) > 59) return null;
  // POSIX time has no leap seconds: ":60" becomes the first second of the next minute.
  if (second > 60) return null;
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  if (date.getUTCMonth() !== month - 1 || date.getUTCDate() !== day) return null;
  const offsetMinutes = (sign === '-' ? -1 : 1) * (Number(offsetHour) * 60 + Number(offsetMinute));
  date.setUTCHours(hour, minute - offsetMinutes, second, Number(fraction.slice(0, 3).padEnd(3, '0')));
  const utcYear = date.getUTCFullYear();
  return utcYear < 0 || utcYear > 9999 ? null : date.toISOString();
}

/** The stored and served form of a time in milliseconds. */
export function formatTimestamp(epochMs: number): string {
  return new Date(epochMs).toISOString();
}

/** The UTC day of a time in milliseconds, such as `2026-04-15`. */
export function dayOf(epochMs: number): string {
  return formatTimestamp(epochMs).slice(0, 10);
}

/** The timestamp moved by a number of milliseconds, which can be negative. */
export function addMilliseconds(timestamp: string, milliseconds: number): string {
  return formatTimestamp(Date.parse(timestamp) + milliseconds);
}

/** The latest of several timestamps. */
export function latestOf(first: string, ...others: string[]): string {
  return others.reduce((latest, other) => (other > latest ? other : latest), first);
}

/** The last UTC days in order, ending today. */
export function lastDays(nowMs: number, dayCount: number): string[] {
  return Array.from({ length: dayCount }, (_, index) => dayOf(nowMs - (dayCount - 1 - index) * DAY_MS));
}
