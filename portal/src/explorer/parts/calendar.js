// A deadline as an iCalendar file (RFC 5545), made in the browser.

/** The longest line that every calendar accepts, in bytes. Continuations begin with a space. */
const MAX_LINE_BYTES = 75;

/**
 * @param {{ id: string, title: string, reference_number: string, close_at: string }} solicitation
 * @param {number} nowMs
 * @param {string} address of its page
 * @returns {string} one event without a duration, at the deadline
 */
export function calendarFile({ id, title, reference_number: reference, close_at: closeAt }, nowMs, address) {
  const lines = [
    'BEGIN:VCALENDAR',
    'VERSION:2.0',
    'PRODID:-//Partner data service//Explorer//EN',
    'BEGIN:VEVENT',
    `UID:${id}@${location.host}`,
    `DTSTAMP:${formatUtc(nowMs)}`,
    `DTSTART:${formatUtc(Date.parse(closeAt))}`,
    `SUMMARY:${escapeText(`Deadline: ${title}`)}`,
    `DESCRIPTION:${escapeText(`${reference}\n${address}`)}`,
    'END:VEVENT',
    'END:VCALENDAR',
  ];
  return lines.map((line) => `${fold(line)}\r\n`).join('');
}

/** @param {number} ms @returns {string} such as `20300415T170000Z` */
function formatUtc(ms) {
  return new Date(ms).toISOString().replaceAll(/[-:]|\.\d+/g, '');
}

/** @param {string} text */
function escapeText(text) {
  return text.replaceAll(/[\\;,]/g, '\\$&').replaceAll(/\r?\n|\r/g, '\\n');
}

/** Splits a line between characters. @param {string} line */
function fold(line) {
  const encoder = new TextEncoder();
  let folded = '';
  let bytes = 0;
  for (const character of line) {
    const size = encoder.encode(character).length;
    if (bytes + size > MAX_LINE_BYTES) {
      folded += '\r\n ';
      bytes = 1;
    }
    folded += character;
    bytes += size;
  }
  return folded;
}
