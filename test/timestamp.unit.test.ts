import { expect, test } from 'vitest';
import { parseTimestamp } from '../src/timestamp.ts';

const two = (value: number): string => String(value).padStart(2, '0');

test.each([2023, 2024, 1900, 2000])('in %i, exactly the days of the calendar are accepted', (year) => {
  for (let month = 0; month <= 13; month += 1) {
    const days = month >= 1 && month <= 12 ? new Date(Date.UTC(year, month, 0)).getUTCDate() : 0;
    for (let day = 0; day <= 32; day += 1) {
      const date = `${year}-${two(month)}-${two(day)}`;
      const expected = day >= 1 && day <= days ? `${date}T08:09:10.000Z` : null;
      for (const time of ['T08:09:10Z', 'T08:09:10.000Z', 't08:09:10z', 'T10:09:10+02:00']) {
        expect(parseTimestamp(date + time), date + time).toBe(expected);
      }
    }
  }
});

test.each([
  ['2026-01-02T23:59:59Z', '2026-01-02T23:59:59.000Z'],
  ['2026-01-02T23:59:59.987Z', '2026-01-02T23:59:59.987Z'],
  ['2026-01-02T23:59:60Z', '2026-01-03T00:00:00.000Z'],
  ['2026-01-02T24:00:00Z', null],
  ['2026-01-02T23:60:00Z', null],
  ['2026-01-02T23:59:61Z', null],
  ['2026-01-02 23:59:59Z', null],
  ['2026-01-02T23:59:5xZ', null],
])('%s is read as %s', (text, expected) => {
  expect(parseTimestamp(text)).toBe(expected);
});
