import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { formatFor } from '../../tools/format.ts';
import { readNights } from '../measure/nights.ts';
import { note } from '../measure/progress.ts';
import { RESULTS_NAME, type Results } from '../measure/results.ts';
import { boundsText } from './bounds.ts';
import { drawSoaks, drawSubject } from './charts.ts';
import { compare } from './comparison.ts';
import { Figures, readable, sizeText } from './figures.ts';
import { machineText, methodText } from './method.ts';
import type { Subject } from './subject.ts';
import { longestSoaks, soakText } from './soak.ts';
import { SUBJECTS } from './subjects.ts';

/** The folder of the committed report. */
export const REPORT_FOLDER = fileURLToPath(new URL('../', import.meta.url));

/** More than this, nobody reads. */
const MAX_BYTES = 25 * 1024;

/** Writes the report and its charts from the results, and formats the results file. */
export async function writeReport(results: Results, folder = REPORT_FOLDER): Promise<void> {
  const figures = new Figures(results);
  const charts = join(folder, 'charts');
  rmSync(charts, { recursive: true, force: true });
  mkdirSync(charts);
  const measured = SUBJECTS.flatMap((subject) => {
    const said = compare(figures, subject);
    return said === null ? [] : [{ subject, ...said }];
  });
  const sections = measured
    // Losses first.
    .sort((a, b) => b.loss - a.loss)
    .map(({ subject, text }) => {
      const chart = drawSubject(figures, subject, folder);
      const parts = [`## ${subject.title}`, text, chart, tableOf(figures, subject), leftOut(results, subject)];
      return parts.filter((one) => one !== null).join('\n\n');
    });
  const nights = readNights();
  const soaks = longestSoaks(nights);
  const text = [
    '# Measurements',
    'Written by `npm run bench`; `node bench/report.ts` writes it again from `results.json`, which also has the figures of each ' +
      'round. Tables in which something is ahead of this service come first, the largest lead at the top.',
    ...sections,
    '## Bounds',
    boundsText(figures, nights),
    ...(soaks.length === 0 ? [] : ['## Everything at once', ...soaks.map(soakText), drawSoaks(soaks, folder)]),
    '## Machine',
    machineText(results),
    '## Method',
    methodText(results, figures),
  ].join('\n\n');
  if (Buffer.byteLength(text) > MAX_BYTES) note(`RESULTS.md has ${Buffer.byteLength(text)} bytes: shorten it`);
  writeFileSync(join(folder, 'RESULTS.md'), `${text.trim()}\n`);
  const file = join(folder, RESULTS_NAME);
  writeFileSync(file, await formatFor(file, JSON.stringify(results)));
}

/** The rounds of load that are not in a table, with the reason; null if there are none. */
function leftOut({ parts }: Results, { part, columns }: Subject): string | null {
  if (!columns.includes('requests/s')) return null;
  const problems = parts.filter((one) => one.part === part).flatMap((one) => one.problems);
  return problems.length === 0 ? null : `Rounds that were left out: ${problems.join('; ')}.`;
}

/** One row for each server and work, with the columns of each size. Columns without a figure are left out. */
function tableOf(figures: Figures, { part, columns, heads = {} }: Subject): string {
  const rows = figures.rowsOf(part, columns);
  const all = figures.sizesOf(part).flatMap((size) => columns.map((unit) => ({ size, unit })));
  const isOneWork = new Set(rows.map(({ work }) => work)).size === 1;
  const filledColumns = all
    .map(({ size, unit }) => ({
      head: `${sizeText(size)}: ${heads[unit] ?? unit}`,
      values: rows.map((row) => figures.find(part, size, row, unit)),
    }))
    .filter(({ values }) => values.some((value) => value !== null));
  const headLine = [...(isOneWork ? [] : ['work']), 'server', ...filledColumns.map(({ head }) => head)];
  const rule = headLine.map((_, index) => (index < (isOneWork ? 1 : 2) ? '-' : '-:'));
  const lines = rows.map(({ work, candidate }, index) => [
    ...(isOneWork ? [] : [rows[index - 1]?.work === work ? '' : work]),
    candidate,
    ...filledColumns.map(({ values }) => {
      const value = values[index] ?? null;
      return value === null ? '' : readable(value);
    }),
  ]);
  return [headLine, rule, ...lines].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}
