import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { drawChart } from '../../tools/bench/draw-chart.ts';
import type { Engine } from '../market/databases.ts';
import { ENGINE_NAMES } from './bounds.ts';
import { engineOf } from './comparison.ts';
import { sizeText, type Figures, type Row } from './figures.ts';
import type { Soak } from './soak.ts';
import type { Subject } from './subject.ts';

const WIDTH = 800;
const SERVICE_COLORS = { SQLite: '#1f6feb', PostgreSQL: '#0b3d91' };
const OTHER_COLORS = ['#d9480f', '#2b8a3e', '#862e9c', '#e67700', '#868e96', '#0b7285'];

/** Draws a subject's chart into the folder's `charts`. Returns the Markdown that shows it; null if there is none, or no figures. */
export function drawSubject(figures: Figures, { part, chart }: Subject, folder: string): string | null {
  if (chart === undefined) return null;
  const { unit, isBySize = false } = chart;
  const sizes = figures.sizesOf(part).slice(isBySize ? 0 : -1);
  const series = figures
    .rowsOf(part, [unit], chart.isWanted)
    .map((row) => ({ row, values: sizes.map((size) => rounded(figures.find(part, size, row, unit))) }))
    .filter(({ values }) => values.some((value) => value !== null));
  if (series.length < 2 || (isBySize && sizes.length < 2)) return null;
  const size = isBySize ? 'by size' : `${sizes.map(sizeText).join('')} solicitations`;
  const axis = axisOf(series, isBySize ? 5 : 50);
  const subtext = chart.unitText + (axis.type === 'log' ? ', logarithmic' : '');
  const title = { text: `${chart.title}, ${size}`, subtext, left: 12, top: 8 };
  const svg = isBySize ? drawLines(title, axis, sizes, series) : drawBars(title, axis, series);
  const file = `charts/${chart.file}.svg`;
  writeFileSync(join(folder, file), svg);
  return `![${title.text}](${file})`;
}

/** Draws the minutes of soaks into the folder's `charts`: memory above, times below. Returns the Markdown that shows it. */
export function drawSoaks(soaks: readonly Soak[], folder: string): string {
  const minutes = Math.max(...soaks.map(({ byMinute }) => byMinute.length));
  const lineOf = (engine: Engine, name: string, type: string, grid: number, data: readonly number[]): object => ({
    ...{
      type: 'line',
      name: `${name}, ${ENGINE_NAMES[engine]}`,
      showSymbol: false,
      xAxisIndex: grid,
      yAxisIndex: grid,
    },
    ...{ color: SERVICE_COLORS[ENGINE_NAMES[engine]], lineStyle: { type, width: 1.5 }, data },
  });
  const xAxis = {
    type: 'category',
    data: Array.from({ length: minutes }, (_, index) => index + 1),
    boundaryGap: false,
  };
  const titleOf = (text: string, top: number): object => ({ text, left: 12, top, textStyle: { fontSize: 15 } });
  const svg = drawChart(WIDTH, 520, {
    title: [titleOf('Memory of all processes, MB', 8), titleOf('Time of a response, ms, logarithmic', 218)],
    legend: { bottom: 8 },
    grid: [
      { left: 60, right: 40, top: 40, height: 140 },
      { left: 60, right: 40, top: 250, height: 170 },
    ],
    xAxis: [
      { ...xAxis, gridIndex: 0 },
      { ...xAxis, gridIndex: 1, name: 'minute', nameLocation: 'middle', nameGap: 26 },
    ],
    yAxis: [
      { type: 'value', min: 0, gridIndex: 0 },
      { type: 'log', gridIndex: 1 },
    ],
    series: soaks.flatMap(({ engine, byMinute }) => [
      lineOf(
        engine,
        'memory',
        'solid',
        0,
        byMinute.map(({ mb }) => mb),
      ),
      lineOf(
        engine,
        'p99',
        'solid',
        1,
        byMinute.map(({ p99Ms }) => p99Ms),
      ),
      lineOf(
        engine,
        'p50',
        'dashed',
        1,
        byMinute.map(({ p50Ms }) => p50Ms),
      ),
    ]),
  });
  const file = 'charts/soak.svg';
  writeFileSync(join(folder, file), svg);
  return `![Memory and times of responses, by the minute](${file})`;
}

const rounded = (value: number | null): number | null => (value === null ? null : Number(value.toPrecision(3)));

type Series = readonly { row: Row; values: (number | null)[] }[];

function drawLines(title: object, axis: object, sizes: readonly number[], series: Series): string {
  return drawChart(WIDTH, 420, {
    title,
    legend: { bottom: 8, itemGap: 30 },
    grid: { left: 20, right: 40, top: 70, bottom: 100, containLabel: true },
    xAxis: { type: 'category', data: sizes.map(sizeText), name: 'solicitations', nameLocation: 'middle', nameGap: 28 },
    yAxis: axis,
    series: series.map(({ row, values: data }, index) => {
      return { type: 'line', name: row.candidate, color: colorOf(row, index), data };
    }),
  });
}

function drawBars(title: object, axis: object, series: Series): string {
  const isOneWork = new Set(series.map(({ row }) => row.work)).size === 1;
  const bars = series.map(({ row, values }) => ({ row, value: values[0] ?? 0 })).sort((a, b) => b.value - a.value);
  const formatter = ({ value }: { value: number }): string => value.toLocaleString('en-US');
  return drawChart(WIDTH, 100 + 30 * bars.length, {
    title,
    // The labels are wider than ECharts estimates without a browser.
    grid: { left: 50, right: 80, top: 64, bottom: 16, containLabel: true },
    xAxis: axis,
    yAxis: {
      type: 'category',
      data: bars.map(({ row }) => (isOneWork ? row.candidate : `${row.work}, ${row.candidate}`)),
      axisTick: { show: false },
    },
    series: {
      type: 'bar',
      label: { show: true, position: 'right', formatter },
      data: bars.map(({ row, value }, index) => ({ value, itemStyle: { color: colorOf(row, index) } })),
    },
  });
}

/** From zero, so that lengths are honest, unless the shortest could not be seen; then from a power of ten below it. */
function axisOf(series: Series, maxRatio: number): { type: 'value' | 'log'; min: number; startValue: number } {
  const values = series.flatMap((one) => one.values.filter((value) => value !== null));
  const minValue = Math.min(...values);
  const isLogarithmic = Math.max(...values) > maxRatio * minValue;
  const min = isLogarithmic ? 10 ** Math.floor(Math.log10(minValue / 2)) : 0;
  return { type: isLogarithmic ? 'log' : 'value', min, startValue: min };
}

/** The same colors for this service in every chart. */
function colorOf({ candidate }: Row, index: number): string {
  const engine = engineOf(candidate);
  return engine === null ? (OTHER_COLORS[index % OTHER_COLORS.length] ?? '') : SERVICE_COLORS[engine];
}
