import { expect, test } from 'vitest';
import { DOCUMENTS, readDocument } from './documents.ts';

const INDEX = 'docs/decisions/README.md';
const RECORDS = DOCUMENTS.filter((file) => file.startsWith('docs/decisions/') && file !== INDEX);

test('the index of decisions lists every record once, under its number and title', () => {
  const rows = readDocument(INDEX)
    .match(/^- \[\d{4}\].*$/gm)
    ?.sort();
  const records = RECORDS.map((file) => {
    const [, number = '', title = ''] = /^# (\d{4}): (.*)\n/.exec(readDocument(file)) ?? [];
    return { number, title, name: file.slice(file.lastIndexOf('/') + 1) };
  });
  const expected = records.map(({ number, title, name }) => `- [${number}](${name}) ${title}`);
  expect(rows).toEqual(expected);
  expect(new Set(records.map(({ number }) => number)).size).toBe(records.length);
});

test('there are few enough records to read them all', () => {
  expect(RECORDS.length).toBeLessThanOrEqual(24);
});

test.each(RECORDS)('%s fits on a page', (file) => {
  expect(readDocument(file).length).toBeLessThan(5_000);
});
