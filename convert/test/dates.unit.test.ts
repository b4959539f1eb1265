import { expect, test } from 'vitest';
import { parseTimestamp as parseInService } from '../../src/timestamp.ts';
import { parseTimestamp, parseWithFormats } from '../src/dates.ts';

test.each([
  '2026-04-15T09:00:00Z',
  '2026-04-15t09:00:00.123456z',
  '2026-04-15T09:00:00.9+05:30',
  '2016-12-31T23:59:60Z',
  '2016-12-31T23:59:60.5-01:00',
  '0000-01-01T00:00:00+00:01',
  '9999-12-31T23:59:59-00:01',
  '2026-02-30T00:00:00Z',
  '2026-04-15T24:00:00Z',
  '2026-04-15T09:61:00Z',
  '2026-04-15T09:00:61Z',
  '2026-04-15T09:00:00+24:00',
  '2026-04-15T09:00:00',
  '2026-04-15 09:00:00Z',
  '2026-W16-3T09:00:00Z',
])('reads %s as an import does', (text) => {
  expect(parseTimestamp(text)).toBe(parseInService(text));
});

test.each([
  ['3/8/2026 2:30 AM', 'M/d/yyyy h:mm a', 'America/Chicago'],
  ['2026-03-29 01:30', 'yyyy-MM-dd HH:mm', 'Europe/London'],
  ['2026-10-04 02:15', 'yyyy-MM-dd HH:mm', 'Australia/Lord_Howe'],
])('refuses %s, which clocks skip', (text, format, zone) => {
  expect(() => parseWithFormats(text, [format], zone)).toThrow(`does not exist in ${zone}, whose clocks skip it`);
});

test.each([
  ['3/8/2026 3:00 AM', 'M/d/yyyy h:mm a', 'America/Chicago', '2026-03-08T08:00:00.000Z'],
  ['12/31/2026 12:00 AM', 'M/d/yyyy h:mm a', 'America/Chicago', '2026-12-31T06:00:00.000Z'],
  ['2026-03-08 24:00', 'yyyy-MM-dd HH:mm', 'America/Chicago', '2026-03-09T05:00:00.000Z'],
  ['2026-03-08 02:30 +01:00', 'yyyy-MM-dd HH:mm ZZ', 'America/Chicago', '2026-03-08T01:30:00.000Z'],
  // Midnight does not exist there: the day begins at one.
  ['2026-03-29', 'yyyy-MM-dd', 'Asia/Beirut', '2026-03-28T22:00:00.000Z'],
])('reads %s', (text, format, zone, utc) => {
  expect(parseWithFormats(text, [format], zone)).toBe(utc);
});
