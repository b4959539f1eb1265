import { DateTime } from 'luxon';
import { ValueError } from './value-error.ts';

const DATE = /^\d{4}-\d{2}-\d{2}$/;

/** RFC 3339, section 5.6: Luxon reads other forms of ISO 8601 as well. */
const TIMESTAMP = /^\d{4}-\d{2}-\d{2}T([01]\d|2[0-3]):\d{2}:\d{2}(\.\d+)?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$/i;

/** An RFC 3339 timestamp in UTC with milliseconds; null if the text is none, or not in the years 0 to 9999 in UTC. */
export function parseTimestamp(text: string): string | null {
  if (!TIMESTAMP.test(text)) return null;
  const isLeapSecond = text.slice(16, 19) === ':60';
  const time = DateTime.fromISO(isLeapSecond ? `${text.slice(0, 16)}:59${text.slice(19)}` : text, { zone: 'utc' });
  // POSIX time has no leap seconds: ":60" becomes the first second of the next minute.
  const utc = isLeapSecond ? time.plus({ seconds: 1 }) : time;
  return utc.isValid && utc.year >= 0 && utc.year <= 9999 ? toText(utc) : null;
}

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
  if (!DATE.test(text)) throw ValueError.of(text, 'is not an RFC 3339 timestamp or date', field);
  if (zone === null)
    throw ValueError.of(text, 'has no time; name its time zone: --zone, or time_zone in a CSV map', field);
  return parseWithFormats(text, ['yyyy-MM-dd'], zone, field);
}

/**
 * Reads a date or time in one of several formats, such as `MM/dd/yyyy`
 * (https://moment.github.io/luxon/#/parsing?id=table-of-tokens).
 *
 * @throws ValueError if the text has none of the formats, is another time in each of two, or is a time that clocks skip.
 */
export function parseWithFormats(text: string, formats: readonly string[], zone: string, field = ''): string {
  const parsed = formats.map((format) => DateTime.fromFormat(text, format, { zone, locale: 'en-US' }));
  if (formats.some((format, index) => isSkipped(text, format, parsed[index])))
    throw ValueError.of(text, `does not exist in ${zone}, whose clocks skip it`, field);
  const times = new Map(parsed.filter(({ isValid }) => isValid).map((time) => [time.toMillis(), time.toUTC()]));
  const [utc, other] = times.values();
  if (utc === undefined) throw ValueError.of(text, `does not have the format ${formats.join(' or ')}`, field);
  if (other !== undefined)
    throw ValueError.of(text, `is a different time in each of the formats ${formats.join(' and ')}`, field);
  if (utc.year < 0 || utc.year > 9999) throw ValueError.of(text, 'is not in the years 0 to 9999 in UTC', field);
  return toText(utc);
}

/** Whether clocks skip a time, as at the start of summer time: Luxon then returns a later one. */
function isSkipped(text: string, format: string, time: DateTime | undefined): boolean {
  const { result, zone } = DateTime.fromFormatExplain(text, format, { locale: 'en-US' });
  const { hour, minute = 0 } = (result ?? {}) as { hour?: number; minute?: number };
  // A text with an offset is in no local time; a date alone is the start of the day, whenever that is.
  if (time?.isValid !== true || zone != null || hour === undefined) return false;
  return hour % 24 !== time.hour || minute !== time.minute;
}

function toText(utc: DateTime): string {
  return utc.toISO() ?? '';
}
