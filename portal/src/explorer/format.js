// Formats values of records for display.

import { element } from './dom.js';

export const DAY_MS = 86_400_000;

const NUMBER = new Intl.NumberFormat('en');
const DAY = new Intl.DateTimeFormat('en', { day: 'numeric', month: 'short', year: 'numeric', timeZone: 'UTC' });
const SHORT_DAY = new Intl.DateTimeFormat('en', { day: 'numeric', month: 'short', timeZone: 'UTC' });
const TIME_OF_DAY = new Intl.DateTimeFormat('en', { timeStyle: 'medium', hourCycle: 'h23', timeZone: 'UTC' });
const TIME = new Intl.DateTimeFormat('en', { hour: '2-digit', minute: '2-digit', hourCycle: 'h23', timeZone: 'UTC' });

/** @param {number} ms @returns {string} the time to the second, for events moments away */
export function formatTimeOfDay(ms) {
  return `${TIME_OF_DAY.format(ms)} UTC`;
}

/** @param {number} number */
export function formatNumber(number) {
  return NUMBER.format(number);
}

/** @param {number} ms @returns {string} such as `3 Dec`, in UTC, like the API's timestamps */
export function formatShortDay(ms) {
  return dayFirst(SHORT_DAY, ms);
}

/** @param {number} ms @returns {string} such as `14:05`, in UTC */
export function formatShortTime(ms) {
  return TIME.format(ms);
}

/**
 * A timestamp in UTC to the minute; the element's `datetime` and `title` hold it in full.
 *
 * @param {string | null} at
 */
export function time(at) {
  if (at === null) return null;
  const ms = Date.parse(at);
  return element('time', { datetime: at, title: at }, `${dayFirst(DAY, ms)}, ${TIME.format(ms)} UTC`);
}

/** @param {string | null} at @returns {HTMLTimeElement | null} the day only, in UTC, which the column's title says */
export function day(at) {
  if (at === null) return null;
  return element('time', { datetime: at, title: at }, dayFirst(DAY, Date.parse(at)));
}

/**
 * How far a deadline is from now, in whole days: `in 9 days`, `3 days ago`.
 *
 * @param {number} ms from now; negative if it has passed
 */
export function formatDistance(ms) {
  const days = Math.floor(Math.abs(ms) / DAY_MS);
  if (days === 0) return ms < 0 ? 'less than a day ago' : 'within a day';
  const distance = days === 1 ? 'a day' : `${formatNumber(days)} days`;
  return ms < 0 ? `${distance} ago` : `in ${distance}`;
}

/** @param {number | null} bytes */
export function formatBytes(bytes) {
  if (bytes === null) return null;
  if (bytes < 1000) return `${bytes} B`;
  return bytes < 1_000_000 ? `${(bytes / 1000).toFixed(1)} kB` : `${(bytes / 1_000_000).toFixed(1)} MB`;
}

/** @param {boolean} value */
export function yesOrNo(value) {
  return value ? 'yes' : 'no';
}

/**
 * A link if the text is an http or https URL, otherwise the text itself: a record could contain a `javascript:` URL.
 *
 * @param {string | null} text
 */
export function webLink(text) {
  if (text === null || !/^https?:\/\//i.test(text) || !URL.canParse(text)) return text;
  return element('a', { href: text, rel: 'noreferrer noopener nofollow', target: '_blank' }, text);
}

/** Day before month, no comma, the same in every browser. @param {Intl.DateTimeFormat} format @param {number} ms */
function dayFirst(format, ms) {
  const parts = new Map(format.formatToParts(ms).map(({ type, value }) => [type, value]));
  return [parts.get('day'), parts.get('month'), parts.get('year')].filter((part) => part !== undefined).join(' ');
}
