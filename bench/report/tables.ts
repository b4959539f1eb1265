import { FROM_MEMORY } from '../candidates/from-memory.ts';
import { MINIMUM } from '../candidates/minimum.ts';
import type { Measurement, Unit } from '../measure/results.ts';
import { median } from '../measure/statistics.ts';
import { readable, sizeText, withSpread, type Figures } from './figures.ts';

const THROUGHPUT: Unit = 'requests/s';

/** The tables of one part, one for each size. */
export function tablesOf(figures: Figures, part: string): string {
  return figures
    .sizesOf(part)
    .reverse()
    .map((size) => {
      const rows = figures.all.filter((one) => one.part === part && one.size === size);
      const table = rows.some(({ unit }) => unit === THROUGHPUT) ? throughputTable(rows) : plainTable(rows);
      return `With ${sizeText(size)} solicitations:\n\n${table}\n`;
    })
    .join('\n');
}

/** A row for each work and candidate, with its speed beside that of the baselines. */
function throughputTable(rows: readonly Measurement[]): string {
  const value = (of: Measurement, unit: Unit, candidate = of.candidate): number | null => {
    const found = rows.find((one) => one.work === of.work && one.candidate === candidate && one.unit === unit);
    return found === undefined ? null : median(found.values);
  };
  const speeds = rows.filter(({ unit }) => unit === THROUGHPUT);
  const lines = speeds.map((row) => {
    const speed = median(row.values);
    const ratio = (candidate: string): string => {
      const other = value(row, THROUGHPUT, candidate);
      return other === null ? '' : readable(speed / other);
    };
    return [
      row.work,
      row.candidate + (row.remark === undefined ? '' : ` (${row.remark})`),
      withSpread(row.values),
      ratio(MINIMUM),
      ratio(FROM_MEMORY),
      readable(value(row, 'server CPU µs a request') ?? NaN),
      readable(value(row, 'database CPU µs a request') ?? NaN),
    ];
  });
  return markdownTable(
    ['work', 'server', 'requests/s', '÷ minimum', '÷ from memory', 'server CPU, µs', 'database CPU, µs'],
    lines,
  );
}

/** A row for each work and candidate, a column for each unit. */
function plainTable(rows: readonly Measurement[]): string {
  const units = [...new Set(rows.map(({ unit }) => unit))];
  const keys = new Map(rows.map((row) => [`${row.work}\t${row.candidate}`, row]));
  const lines = [...keys.values()].map(({ work, candidate }) => [
    work,
    candidate,
    ...units.map((unit) => {
      const found = rows.find((one) => one.work === work && one.candidate === candidate && one.unit === unit);
      return found === undefined ? '' : withSpread(found.values);
    }),
  ]);
  return markdownTable(['work', 'server', ...units.map((unit) => unit.replace('most ms', 'longest ms'))], lines);
}

/** A table in Markdown; all columns but the first two hold numbers. */
export function markdownTable(head: readonly string[], rows: readonly (readonly string[])[], textColumns = 2): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  const rule = head.map((_, index) => (index < textColumns ? '---' : '---:'));
  return [line(head), line(rule), ...rows.map(line)].join('\n');
}
