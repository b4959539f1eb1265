// Bars, drawn by uPlot on a canvas, and their numbers as a table, which keyboards and screen readers can use.

import uPlot from 'uplot';
import { element } from '../dom.js';
import { formatNumber } from '../format.js';

/** @typedef {import('../view.js').View} View */

/**
 * @typedef {object} Bar
 * @property {string} name in the table
 * @property {string} label on the axis
 * @property {string} [address] of the list of its records
 * @property {number} count
 */

const drawBars = /** @type {uPlot.Series.BarsPathBuilderFactory} */ (uPlot.paths.bars);

const FONT_PIXELS = 12;

/** The least distance of two labels of the axis. */
const LABEL_PIXELS = 54;

/**
 * @param {string} summary what the bars show; its own caption is outside
 * @param {string} nameTitle of the bars' names
 * @param {readonly Bar[]} bars
 * @param {View} view
 * @param {number} height in pixels
 */
export function barChart(summary, nameTitle, bars, view, height) {
  const plot = element('div', { class: 'plot', role: 'img', 'aria-label': summary });
  const max = Math.max(1, ...bars.map(({ count }) => count));
  const font = getComputedStyle(document.body).fontFamily;
  const chart = new uPlot(
    {
      // The width until the page has laid it out.
      width: 300,
      height,
      // Above for the numbers, beside for the labels of the first and the last bar.
      padding: [FONT_PIXELS + 6, 10, 0, 10],
      cursor: { show: false },
      legend: { show: false },
      scales: { x: { time: false, range: [-0.5, bars.length - 0.5] }, y: { range: [0, max] } },
      axes: [
        {
          stroke: () => color('--muted'),
          font: `${FONT_PIXELS}px ${font}`,
          size: 2 * FONT_PIXELS,
          gap: 6,
          grid: { show: false },
          ticks: { show: false },
          border: { show: true, stroke: () => color('--line'), width: 1 },
          incrs: [1, 2, 3, 4, 5, 7, 10, 15],
          space: LABEL_PIXELS,
          values: (_, indexes) => indexes.map((index) => bars[index]?.label ?? ''),
        },
        { show: false },
      ],
      series: [
        {},
        {
          width: 0,
          fill: () => color('--bar'),
          points: { show: false },
          paths: drawBars({ size: [0.7, 56], radius: 0.1 }),
        },
      ],
      hooks: { draw: [(self) => drawNumbers(self, bars, font)] },
    },
    [bars.map((_, index) => index), bars.map(({ count }) => count)],
    plot,
  );
  const barAt = (/** @type {MouseEvent} */ { offsetX }) => bars[Math.round(chart.posToVal(offsetX, 'x'))];
  chart.over.addEventListener('mousemove', (event) => {
    const bar = barAt(event);
    chart.over.title = bar === undefined ? '' : `${bar.name}: ${formatNumber(bar.count)}`;
  });
  chart.over.addEventListener('click', (event) => {
    const { address } = barAt(event) ?? {};
    if (address !== undefined) view.open(address);
  });
  followPage(chart, plot, height);
  return element('div', { class: 'chart' }, plot, numbers(nameTitle, bars));
}

/** Draws the chart again with the page's width and colours, until it is removed from the page. @param {uPlot} chart @param {HTMLElement} plot @param {number} height */
function followPage(chart, plot, height) {
  const theme = new MutationObserver(() => chart.redraw());
  const size = new ResizeObserver(() => {
    if (plot.isConnected) {
      chart.setSize({ width: plot.clientWidth, height });
      return;
    }
    theme.disconnect();
    size.disconnect();
    chart.destroy();
  });
  theme.observe(document.documentElement, { attributeFilter: ['data-theme'] });
  size.observe(plot);
}

/** The number of each bar above it, if all of them have the room. @param {uPlot} chart @param {readonly Bar[]} bars @param {string} font */
function drawNumbers({ ctx: context, valToPos, bbox }, bars, font) {
  const pixels = devicePixelRatio;
  context.save();
  context.font = `${FONT_PIXELS * pixels}px ${font}`;
  context.fillStyle = color('--text');
  context.textAlign = 'center';
  context.textBaseline = 'bottom';
  const texts = bars.map(({ count }) => (count === 0 ? '' : formatNumber(count)));
  if (texts.every((text) => context.measureText(text).width < bbox.width / bars.length)) {
    for (const [index, text] of texts.entries()) {
      const top = valToPos(bars[index]?.count ?? 0, 'y', true);
      context.fillText(text, valToPos(index, 'x', true), top - 4 * pixels);
    }
  }
  context.restore();
}

/** @param {string} name of a custom property of the page's CSS */
function color(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name);
}

/** @param {string} nameTitle @param {readonly Bar[]} bars */
function numbers(nameTitle, bars) {
  const rows = bars
    .filter(({ count }) => count > 0)
    .map(({ name, address, count }) =>
      element(
        'tr',
        {},
        element('th', { scope: 'row' }, address === undefined ? name : element('a', { href: address }, name)),
        element('td', {}, formatNumber(count)),
      ),
    );
  if (rows.length === 0) return null;
  const titles = [nameTitle, 'Number'].map((title) => element('th', { scope: 'col' }, title));
  return element(
    'details',
    {},
    element('summary', {}, 'As a table'),
    element('table', {}, element('thead', {}, element('tr', {}, ...titles)), element('tbody', {}, ...rows)),
  );
}
