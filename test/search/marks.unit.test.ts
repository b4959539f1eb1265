import fc from 'fast-check';
import { expect, test } from 'vitest';
import { coverDeadlines, deadlineMarks, leadEntityMark } from '../../src/search/marks.ts';
import { queryWords, wordsOf } from '../../src/search/words.ts';

const instant = fc
  .oneof(
    fc.date({
      min: new Date('2023-11-20T00:00:00.000Z'),
      max: new Date('2025-03-02T00:00:00.000Z'),
      noInvalidDate: true,
    }),
    fc.date({
      min: new Date('0000-01-01T00:00:00.000Z'),
      max: new Date('9999-12-31T23:59:59.999Z'),
      noInvalidDate: true,
    }),
    fc
      .constantFrom('2024-02-29T00:00:00.000Z', '1999-12-31T23:59:59.999Z', '2000-01-01T00:00:00.000Z')
      .map((text) => new Date(text)),
  )
  .map((date) => date.toISOString());

const deadlines = fc.array(instant, { minLength: 1, maxLength: 4 }).map((list) => list.sort());
const rangeOf = (list: readonly string[]) => ({ first: list[0] ?? null, last: list.at(-1) ?? null });

test('the marks of a window are those of all deadlines in it, and outside its first and last day of no others', () => {
  fc.assert(
    fc.property(fc.option(instant), fc.option(instant), deadlines, fc.nat(), (after, before, all, place) => {
      const closeAt = all[place % all.length] ?? '';
      const { within, edges } = coverDeadlines({ after, before }, rangeOf(all));
      const marks = deadlineMarks(closeAt);
      const isIn = (after === null || closeAt >= after) && (before === null || closeAt <= before);
      const found = [...within, ...edges].filter((mark) => marks.includes(mark));
      if (isIn) expect(found).toHaveLength(1);
      if (within.some((mark) => marks.includes(mark))) expect(isIn).toBe(true);
      const isOfAnEdge = [after, before].some((end) => end?.slice(0, 10) === closeAt.slice(0, 10));
      if (!isIn && !isOfAnEdge) expect(found).toEqual([]);
    }),
    { numRuns: 5_000 },
  );
});

test('a window is covered by few marks', () => {
  fc.assert(
    fc.property(fc.option(instant), fc.option(instant), deadlines, (after, before, all) => {
      const { within, edges } = coverDeadlines({ after, before }, rangeOf(all));
      // At both ends at most the rest of a month, a year, a decade, a century and a millennium.
      expect(within.length + edges.length).toBeLessThanOrEqual(2 * (31 + 11 + 9 + 9 + 9) + 8);
      expect(new Set([...within, ...edges]).size).toBe(within.length + edges.length);
    }),
    { numRuns: 2_000 },
  );
});

test('where nothing has a deadline, a window has no marks', () => {
  expect(coverDeadlines({ after: null, before: null }, { first: null, last: null })).toEqual({ within: [], edges: [] });
});

test('two lead entities never share a mark, and no text asks for one', () => {
  expect(leadEntityMark('city-A')).not.toBe(leadEntityMark('city-a'));
  for (const mark of [leadEntityMark('city_a'), ...deadlineMarks('2026-11-21T10:00:00.000Z')]) {
    expect(wordsOf(mark).join('')).not.toContain('=');
    for (const { prefix, stemTokens } of queryWords(mark)) {
      expect(mark.startsWith(prefix)).toBe(false);
      expect(stemTokens).not.toContain(mark);
    }
  }
});
