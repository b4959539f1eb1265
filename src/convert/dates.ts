import { DateTime } from 'luxon';
import { parseTimestamp } from '../timestamp.ts';
import { ValueError } from './value-error.ts';

const DATE = /^\d{4}-\d{2}-\d{2}$/;

/**
 * Reads an RFC 3339 timestamp, or a date alone as midnight in a time zone.
 *
 * @param zone an IANA name; null if none was given.
 * @param field of the error, if the caller does not name it.
 * @returns UTC with milliseconds.
 * @throws ValueError
 */
export function readTimestamp(text: string, zone: string | null, field = ''): string {
  const timestamp = parseTimestamp(text);
  if (timestamp !== null) return timestamp;
  if (!DATE.test(text)) throw new ValueError(`${JSON.stringify(text)} is not an RFC 3339 timestamp or date`, field);
  if (zone === null) throw new ValueError(`${JSON.stringify(text)} has no time; name its time zone with --zone`, field);
  return parseWithFormat(text, 'yyyy-MM-dd', zone, field);
}

/**
 * Reads a date or time in a given format, such as `MM/dd/yyyy`
 * (https://moment.github.io/luxon/#/parsing?id=table-of-tokens).
 *
 * @throws ValueError
 */
export function parseWithFormat(text: string, format: string, zone: string, field = ''): string {
  const parsed = DateTime.fromFormat(text, format, { zone, locale: 'en-US' });
  if (!parsed.isValid) throw new ValueError(`${JSON.stringify(text)} does not have the format ${format}`, field);
  const utc = parsed.toUTC();
  if (utc.year < 0 || utc.year > 9999)
    throw new ValueError(`${JSON.stringify(text)} is not in the years 0 to 9999 in UTC`, field);
  return utc.toISO({ suppressMilliseconds: false });
}
