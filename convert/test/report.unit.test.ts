import { expect, test } from 'vitest';
import { ConversionReport } from '../src/report.ts';

const refusal = { file: 'a.csv', place: 'line 2', field: 'status', id: null, reason: '"X" is not a status' };

test('equal refusals are one, with their number and the first places', () => {
  const report = new ConversionReport();
  report.refuse({ ...refusal, field: 'title', reason: 'blank' });
  for (let line = 2; line < 9; line += 1) report.refuse({ ...refusal, place: `line ${line}` });
  expect(report.describeRefusals()).toEqual([
    'a.csv: line 2: title: blank',
    'a.csv: status: "X" is not a status (7 times: line 2, line 3, line 4, line 5, line 6, …)',
  ]);
  expect(report.json({})).toMatchObject({ refused: [{}, { count: 7, places: { length: 5 } }], refused_total: 7 });
});

test('refusals that differ only in their values are one, with the most frequent values first', () => {
  const report = new ConversionReport();
  for (const [index, letter] of ['A', 'B', 'B', 'C', ...Array.from({ length: 40 }, (_, at) => `D${at}`)].entries()) {
    const value = JSON.stringify(letter);
    report.refuse({ ...refusal, place: `row ${index + 2}`, reason: `${value} is not a status`, value });
  }
  const [line, ...others] = report.describeRefusals();
  expect(others).toEqual([]);
  expect(line).toMatch(
    /^a\.csv: status: "A" is not a status \(44 times: row 2, .*row 6, …; "B" 2 times, "A" 1 times, .*, "D16" 1 times, …\)$/,
  );
  expect(report.json({})).toMatchObject({
    refused: [{ count: 44, values: { '"A"': 1, '"B"': 2 } }],
    refused_total: 44,
  });
});

test('counts the records that several rows gave, and these rows', () => {
  const report = new ConversionReport();
  report.merged('contracts', 2);
  for (const rows of [2, 3]) report.merged('lead-entities', rows);
  expect(report.describeMerged()).toEqual(['1 contract merged from 2 rows', '2 lead-entities merged from 5 rows']);
});

test('lists 100 different refusals, and counts the others', () => {
  const report = new ConversionReport();
  for (let index = 0; index < 250; index += 1)
    report.refuse({ ...refusal, place: `line ${index}`, reason: `reason ${index}` });
  expect(report.describeRefusals()).toHaveLength(101);
  expect(report.describeRefusals().at(-1)).toBe('and 150 others');
  expect(report.refused).toBe(250);
});

test('counts refused rows, not their fields', () => {
  const report = new ConversionReport();
  for (const place of ['line 2', 'line 2', 'line 3']) report.refuse({ ...refusal, place });
  expect(report.refused).toBe(2);
  expect(report.json({})).toMatchObject({ refused_total: 2 });
});

test('lists the refusals that leave out records of a kind, and counts the others', () => {
  const report = new ConversionReport();
  report.refuse({ ...refusal, reason: 'of a bid', kinds: ['solicitations'] });
  for (let index = 0; index < 120; index += 1)
    report.refuse({ ...refusal, reason: `${index}`, kinds: ['contracts', 'suppliers'] });
  expect(report.describeRefusals('solicitations')).toEqual(['a.csv: line 2: status: of a bid']);
  expect(report.describeRefusals('suppliers').at(-1)).toBe('and 21 others');
  expect(report.describeRefusals('coops')).toEqual([]);
  report.refuse({ ...refusal, reason: '1', kinds: ['coops'] });
  expect(report.describeRefusals('coops')).toEqual(['and 1 others']);
});

test('counts under 100 names, which can be from the input', () => {
  const report = new ConversionReport();
  for (let index = 0; index < 250; index += 1) report.dropped(`contracts with the status ${index}`);
  const { dropped } = report.json({}) as { dropped: Record<string, number> };
  expect(Object.keys(dropped)).toHaveLength(101);
  expect(dropped['others']).toBe(150);
});

test('cuts the middle of a long reason, so that what is accepted stays', () => {
  const report = new ConversionReport();
  report.refuse({ ...refusal, reason: `"${'\u{1F600}'.repeat(10_000)}" is not a status; accepted is open` });
  const [line = ''] = report.describeRefusals();
  expect(line.length).toBeLessThan(400);
  expect(line).toMatch(/^a\.csv: line 2: status: "\u{1F600}.*….*is not a status; accepted is open$/u);
  expect(line.isWellFormed()).toBe(true);
});
