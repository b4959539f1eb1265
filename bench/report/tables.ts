import { FROM_MEMORY } from '../candidates/from-memory.ts';
import { MINIMUM } from '../candidates/minimum.ts';
import type { Measurement, Unit } from '../measure/results.ts';
import { median } from '../measure/statistics.ts';
import { readable, sizeText, withSpread, type Figures } from './figures.ts';

const THROUGHPUT: Unit = 'requests/s';
const SERVER_CPU: Unit = 'server CPU µs a request';
const DATABASE_CPU: Unit = 'database CPU µs a request';
const CPU_UNITS: readonly Unit[] = [SERVER_CPU, DATABASE_CPU];
const CPU_COLUMNS = ['server CPU, µs', 'database CPU, µs', 'both, µs'];

/** Renders the tables of one part, one per size, largest first. */
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

/** Renders throughput relative to the hand-written minimum, and total CPU time of server and database, at each size. */
export function ratioTable(figures: Figures): string {
  const compared = figures.all.filter(({ candidate, unit }) => candidate === MINIMUM && unit === THROUGHPUT);
  const works = [...new Set(compared.map(({ work }) => work))];
  const sizes = [...new Set(compared.map(({ size }) => size))].sort((a, b) => a - b);
  const rows = works.flatMap((work) => {
    const of = figures.all.filter((one) => one.work === work && compared.some(({ part }) => part === one.part));
    const servers = [...new Set(of.filter(({ unit }) => unit === THROUGHPUT).map(({ candidate }) => candidate))];
    return servers.map((server) => [
      work,
      server,
      ...sizes.flatMap((size) => {
        const rowsOfSize = of.filter((one) => one.size === size);
        const speed = valueOf(rowsOfSize, work, server, THROUGHPUT);
        const minimum = valueOf(rowsOfSize, work, MINIMUM, THROUGHPUT);
        const ratio = speed === null || minimum === null ? '' : readable(speed / minimum);
        return [ratio, cpuCells(rowsOfSize, work, server).at(-1) ?? ''];
      }),
    ]);
  });
  const head = sizes.flatMap((size) => [`${sizeText(size)}: ÷ minimum`, 'CPU, µs']);
  return rows.length === 0 ? 'Not measured yet.' : markdownTable(['work', 'server', ...head], rows);
}

/** One row per work and candidate, with its throughput relative to the baselines. */
function throughputTable(rows: readonly Measurement[]): string {
  const lines = rows
    .filter(({ unit }) => unit === THROUGHPUT)
    .map((row) => {
      const ratio = (candidate: string): string => {
        const other = valueOf(rows, row.work, candidate, THROUGHPUT);
        return other === null ? '' : readable(median(row.values) / other);
      };
      return [
        row.work,
        row.candidate + (row.remark === undefined ? '' : ` (${row.remark})`),
        withSpread(row.values),
        ratio(MINIMUM),
        ratio(FROM_MEMORY),
        ...cpuCells(rows, row.work, row.candidate),
      ];
    });
  return markdownTable(['work', 'server', 'requests/s', '÷ minimum', '÷ from memory', ...CPU_COLUMNS], lines);
}

/** One row per work and candidate, one column per unit. */
function plainTable(rows: readonly Measurement[]): string {
  const units = [...new Set(rows.map(({ unit }) => unit))].filter((unit) => !CPU_UNITS.includes(unit));
  const hasCpu = rows.some(({ unit }) => CPU_UNITS.includes(unit));
  const keys = new Map(rows.map((row) => [`${row.work}\t${row.candidate}`, row]));
  const lines = [...keys.values()].map(({ work, candidate }) => [
    work,
    candidate,
    ...units.map((unit) => {
      const found = rows.find((one) => one.work === work && one.candidate === candidate && one.unit === unit);
      return found === undefined ? '' : withSpread(found.values);
    }),
    ...(hasCpu ? cpuCells(rows, work, candidate) : []),
  ]);
  const names = units.map((unit) => unit.replace('most ms', 'longest ms'));
  return markdownTable(['work', 'server', ...names, ...(hasCpu ? CPU_COLUMNS : [])], lines);
}

/** CPU time per request of server, database and both. The database cell is empty if there is no figure for it. */
function cpuCells(rows: readonly Measurement[], work: string, candidate: string): string[] {
  const server = valueOf(rows, work, candidate, SERVER_CPU);
  const database = valueOf(rows, work, candidate, DATABASE_CPU);
  const sum = server === null ? null : server + (database ?? 0);
  return [server, database, sum].map((value) => (value === null ? '' : readable(value)));
}

function valueOf(rows: readonly Measurement[], work: string, candidate: string, unit: Unit): number | null {
  const found = rows.find((one) => one.work === work && one.candidate === candidate && one.unit === unit);
  return found === undefined ? null : median(found.values);
}

/** Renders a Markdown table. The first `textColumns` columns hold text; the others hold numbers, aligned right. */
export function markdownTable(head: readonly string[], rows: readonly (readonly string[])[], textColumns = 2): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  const rule = head.map((_, index) => (index < textColumns ? '---' : '---:'));
  return [line(head), line(rule), ...rows.map(line)].join('\n');
}
