import { parse } from 'csv-parse/sync';
import { expect, test } from 'vitest';
import { csvHeader, csvLines, type CsvColumn } from '../../src/paging/csv.ts';

const COLUMNS: readonly CsvColumn[] = ['a', 'b'].map((field) => ({ header: field, field, part: null }));

test.each(['\r', 'a\rb', '\n', '\r\n', '"', '""', ',', 'a "quoted" text, with a comma', ' spaces ', '=1+1', "'", '\t'])(
  'a reader that takes any line end for the end of a line reads %j as one cell',
  (text) => {
    const csv = csvHeader(COLUMNS) + csvLines(Buffer.from(`${JSON.stringify({ a: text, b: 'last' })}\n`), COLUMNS);
    const rows: unknown = parse(csv, { record_delimiter: ['\r\n', '\n', '\r'] });
    expect(rows).toEqual([
      ['a', 'b'],
      [text, 'last'],
    ]);
  },
);
