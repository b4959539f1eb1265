import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { drawChart } from '../../tools/bench/draw-chart.ts';
import { SERVICE_NAMES } from '../candidates/service.ts';
import { median } from '../measure/statistics.ts';
import { sizeText, type Figures } from './figures.ts';

const FOLDER = 'charts';
const SERVICE_COLOR = '#1f6feb';
const OTHER_COLOR = '#9aa4b2';
const LINE_COLORS = ['#1f6feb', '#d9480f', '#2b8a3e', '#862e9c', '#e67700', '#0b7285'];

/** A chart in the report. */
export interface Chart {
  file: string;
  title: string;
}

/** Draws throughput next to the baselines, one chart per kind of work. */
export function drawSpeed(figures: Figures, folder: string): Chart[] {
  const speeds = figures.all.filter(({ unit, part }) => unit === 'requests/s' && part !== 'workers');
  const works = [...new Set(speeds.map(({ work }) => work))];
  return works.flatMap((work) => {
    const of = speeds.filter((one) => one.work === work);
    const size = Math.max(...of.map((one) => one.size));
    const bars = of
      .filter((one) => one.size === size)
      .map((one) => ({ name: one.candidate, value: Math.round(median(one.values)) }))
      .sort((a, b) => a.value - b.value);
    if (bars.length < 3) return [];
    const title = `${work}, ${sizeText(size)} solicitations`;
    const services: string[] = Object.values(SERVICE_NAMES);
    const svg = drawChart(760, 110 + 34 * bars.length, {
      title: { text: title, subtext: 'requests a second, server on one core, logarithmic', left: 12, top: 8 },
      grid: { left: 40, right: 70, top: 64, bottom: 16, containLabel: true },
      xAxis: { type: 'log', min: 10 },
      yAxis: { type: 'category', data: bars.map(({ name }) => name), axisTick: { show: false } },
      series: [
        {
          type: 'bar',
          label: {
            show: true,
            position: 'right',
            formatter: ({ value }: { value: number }) => value.toLocaleString('en-US'),
          },
          data: bars.map(({ name, value }) => ({
            value: Math.max(value, 1),
            itemStyle: { color: services.includes(name) ? SERVICE_COLOR : OTHER_COLOR },
          })),
        },
      ],
    });
    return [save(folder, `speed-${slugOf(work)}`, title, svg)];
  });
}

/** Draws latency (median, one request at a time) by market size, one chart per engine. */
export function drawGrowth(figures: Figures, folder: string): Chart[] {
  const sizes = figures.sizesOf('latency');
  if (sizes.length < 2) return [];
  return Object.entries(SERVICE_NAMES).flatMap(([engine, candidate]) => {
    const of = figures.all.filter(
      (one) => one.candidate === candidate && one.part === 'latency' && one.unit === 'p50 ms',
    );
    const works = [...new Set(of.map(({ work }) => work))];
    if (works.length === 0) return [];
    const title = `Time of one request against size, ${candidate}`;
    const svg = drawChart(760, 420, {
      color: LINE_COLORS,
      title: { text: title, subtext: 'milliseconds, median, one at a time, each another one', left: 12, top: 8 },
      legend: { bottom: 8 },
      grid: { left: 20, right: 40, top: 70, bottom: 90, containLabel: true },
      xAxis: {
        type: 'category',
        data: sizes.map(sizeText),
        name: 'solicitations',
        nameLocation: 'middle',
        nameGap: 28,
      },
      yAxis: { type: 'value', min: 0, name: 'ms' },
      series: works.map((work) => ({
        type: 'line',
        name: work,
        data: sizes.map((size) => {
          const found = of.find((one) => one.work === work && one.size === size);
          return found === undefined ? null : Number(median(found.values).toFixed(3));
        }),
      })),
    });
    return [save(folder, `size-${engine}`, title, svg)];
  });
}

function save(folder: string, name: string, title: string, svg: string): Chart {
  const file = `${FOLDER}/${name}.svg`;
  mkdirSync(join(folder, FOLDER), { recursive: true });
  writeFileSync(join(folder, file), svg);
  return { file, title };
}

function slugOf(text: string): string {
  return text.replace(/[^a-z0-9]+/g, '-');
}
