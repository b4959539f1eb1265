import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { format, resolveConfig } from 'prettier';
import { RESULTS_FILE, type Results } from '../measure/results.ts';
import { PARTS } from '../parts/parts.ts';
import { drawGrowth, drawSpeed, type Chart } from './charts.ts';
import { Figures, readable } from './figures.ts';
import { machineText, methodText } from './method.ts';
import { markdownTable, tablesOf } from './tables.ts';
import { judgeTargets, type Target } from './targets.ts';

const REPORT_FILE = fileURLToPath(new URL('../RESULTS.md', import.meta.url));

/** Writes the report and its charts from what was measured, and puts the results themselves into the project's form. */
export async function writeReport(results: Results): Promise<void> {
  const figures = new Figures(results);
  const charts = { speed: drawSpeed(figures), growth: drawGrowth(figures) };
  const dates = Object.values(results.measuredAt).sort();
  const sections = [
    '# What was measured',
    'Written by `npm run bench`; `node bench/report.ts` writes it anew from `results.json`.',
    '## Machine',
    results.machine === null ? '' : machineText(results.machine),
    dates.length === 0 ? '' : `- measured ${dayOf(dates[0])} to ${dayOf(dates.at(-1))} (UTC)`,
    '## How',
    methodText(results),
    '## Aims',
    'Of one server process, at the largest size that was measured.',
    targetTable(judgeTargets(figures)),
    '## Speed against the baselines',
    pictures(charts.speed),
    '## Cost against size',
    pictures(charts.growth),
    '## All figures',
    ...PARTS.filter(({ name }) => figures.sizesOf(name).length > 0).flatMap(({ name, title }) => [
      `### ${title}`,
      `\`npm run bench -- ${name}\`, ${dayOf(results.measuredAt[name])}`,
      tablesOf(figures, name),
    ]),
    '## What could not be measured',
    gapsText(results),
  ];
  await writeFormatted(REPORT_FILE, sections.join('\n\n'));
  await writeFormatted(RESULTS_FILE, JSON.stringify(results));
}

function targetTable(targets: readonly Target[]): string {
  const judgement = (isMet: boolean | null): string =>
    isMet === null ? 'not measured' : isMet ? 'met' : '**not met**';
  return markdownTable(
    ['work', 'database', 'aim', 'measured', ''],
    targets.map(({ work, engine, aim, measured, unit, isMet }) => [
      work,
      engine === 'sqlite' ? 'SQLite' : 'PostgreSQL',
      aim,
      measured === null ? '' : readable(measured) + unit,
      judgement(isMet),
    ]),
    3,
  );
}

function pictures(charts: readonly Chart[]): string {
  return charts.length === 0
    ? 'Not measured yet.'
    : charts.map(({ title, file }) => `![${title}](${file})`).join('\n\n');
}

function gapsText({ gaps }: Results): string {
  if (gaps.length === 0) return 'Everything was.';
  return gaps
    .map(({ part, candidate, reason }) => `- ${candidate} (${part}): ${reason.replace(/\s+/g, ' ')}`)
    .join('\n');
}

function dayOf(instant: string | undefined): string {
  return instant?.slice(0, 10) ?? '';
}

async function writeFormatted(file: string, text: string): Promise<void> {
  const config = await resolveConfig(file);
  writeFileSync(file, await format(text, { ...config, filepath: file }));
}
