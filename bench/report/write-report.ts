import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { formatFor } from '../../tools/format.ts';
import { RESULTS_NAME, type Results } from '../measure/results.ts';
import { PARTS } from '../parts/parts.ts';
import { drawGrowth, drawSpeed, type Chart } from './charts.ts';
import { Figures, readable, sizeText } from './figures.ts';
import { machineText, methodText } from './method.ts';
import { markdownTable, ratioTable, tablesOf } from './tables.ts';
import { judgeTargets, type Target } from './targets.ts';

/** The folder of the committed report. */
export const REPORT_FOLDER = fileURLToPath(new URL('../', import.meta.url));

/** Writes the report and its charts from the results, and formats the results file. */
export async function writeReport(results: Results, folder = REPORT_FOLDER): Promise<void> {
  const figures = new Figures(results);
  const charts = { speed: drawSpeed(figures, folder), growth: drawGrowth(figures, folder) };
  const dates = Object.values(results.measuredAt).sort();
  const sections = [
    '# Measurements',
    'Written by `npm run bench`; `node bench/report.ts` writes it again from `results.json`.',
    '## Machine',
    results.machine === null ? '' : machineText(results.machine),
    dates.length === 0 ? '' : `- measured ${dayOf(dates[0])} to ${dayOf(dates.at(-1))} (UTC)`,
    '## Method',
    methodText(results),
    '## Targets',
    'For one server process. Figures in **bold** miss the target; those in parentheses have none.',
    targetTable(judgeTargets(figures), figures.marketSizes),
    '## Ratios at every size',
    'Requests a second ÷ those of the hand-written minimum, and CPU time of server and database together for a request.',
    ratioTable(figures),
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
    '## Not measured',
    gapsText(results),
  ];
  await writeFormatted(join(folder, 'RESULTS.md'), sections.join('\n\n'));
  await writeFormatted(join(folder, RESULTS_NAME), JSON.stringify(results));
}

function targetTable(targets: readonly Target[], sizes: readonly number[]): string {
  return markdownTable(
    ['work', 'database', 'target', ...sizes.map(sizeText)],
    targets.map(({ work, engine, aim, unit, results }) => [
      work,
      engine === 'sqlite' ? 'SQLite' : 'PostgreSQL',
      aim,
      ...sizes.map((size) => {
        const result = results.get(size);
        if (result === undefined) return results.size === 0 ? 'not measured' : '';
        const text = readable(result.measured) + unit;
        return result.isMet === null ? `(${text})` : result.isMet ? text : `**${text}**`;
      }),
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
  if (gaps.length === 0) return 'Everything was measured.';
  return gaps
    .map(({ part, candidate, reason, size }) => {
      const market = size === undefined ? '' : ` at ${size} solicitations`;
      return `- ${candidate} (${part}${market}): ${reason.replace(/\s+/g, ' ')}`;
    })
    .join('\n');
}

function dayOf(instant: string | undefined): string {
  return instant?.slice(0, 10) ?? '';
}

async function writeFormatted(file: string, text: string): Promise<void> {
  writeFileSync(file, await formatFor(file, text));
}
