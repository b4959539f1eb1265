import { DateTime, IANAZone } from 'luxon';
import { parseTimestamp } from '../timestamp.ts';

const DATE = /^\d{4}-\d{2}-\d{2}$/;

/** A date or time cannot be read; the message continues "field …". */
export class DateError extends Error {
  override name = 'DateError';
}

/** Whether this is an IANA time zone; names such as `local` are not, because they differ by machine. */
export function isTimeZone(name: string): boolean {
  return IANAZone.isValidZone(name);
}

/**
 * Reads an RFC 3339 timestamp, or a date alone as midnight in a time zone.
 *
 * @param zone an IANA name; null if none was given.
 * @returns UTC with milliseconds.
 * @throws DateError
 */
export function readTimestamp(text: string, zone: string | null): string {
  const timestamp = parseTimestamp(text);
  if (timestamp !== null) return timestamp;
  if (!DATE.test(text)) throw new DateError(`${JSON.stringify(text)} is not an RFC 3339 timestamp or date`);
  if (zone === null) throw new DateError(`${JSON.stringify(text)} has no time; name its time zone with --zone`);
  return parseWithFormat(text, 'yyyy-MM-dd', zone);
}

/**
 * Reads a date or time in a given format, such as `MM/dd/yyyy`
 * (https://moment.github.io/luxon/#/parsing?id=table-of-tokens).
 *
 * @throws DateError
 */
export function parseWithFormat(text: string, format: string, zone: string): string {
  const parsed = DateTime.fromFormat(text, format, { zone, locale: 'en-US' });
  if (!parsed.isValid) throw new DateError(`${JSON.stringify(text)} does not have the format ${format}`);
  const utc = parsed.toUTC();
  if (utc.year < 0 || utc.year > 9999)
    throw new DateError(`${JSON.stringify(text)} is not in the years 0 to 9999 in UTC`);
  return utc.toISO({ suppressMilliseconds: false });
}
