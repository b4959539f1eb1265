// A bar chart that is also a table: each row has a name, a number and a bar. The bars are hidden from screen readers,
// which read every number once. A chart library would weigh more than the whole portal.

import { drawing, element } from '../dom.js';
import { formatNumber } from '../format.js';

/**
 * @typedef {object} Bar
 * @property {string} name
 * @property {string} [address] of the list of its records
 * @property {number} count
 * @property {string} [tone] a class for its colour
 */

/**
 * @param {string} caption
 * @param {string} nameTitle
 * @param {readonly Bar[]} bars
 */
export function barChart(caption, nameTitle, bars) {
  const most = Math.max(1, ...bars.map(({ count }) => count));
  const titles = [nameTitle, 'Number'].map((title) => element('th', { scope: 'col' }, title));
  return element(
    'table',
    { class: 'bars' },
    element('caption', {}, caption),
    element('thead', {}, element('tr', {}, ...titles, element('td', { class: 'bar' }))),
    element('tbody', {}, ...bars.map((bar) => row(bar, most))),
  );
}

/** @param {Bar} bar @param {number} most */
function row({ name, address, count, tone = '' }, most) {
  const length = count === 0 ? 0 : Math.max(0.5, (100 * count) / most);
  const shape = drawing('rect', { width: `${length.toFixed(2)}%`, height: '100%', rx: '3', class: tone });
  return element(
    'tr',
    {},
    element('th', { scope: 'row' }, address === undefined ? name : element('a', { href: address }, name)),
    element('td', { class: 'number' }, formatNumber(count)),
    element('td', { class: 'bar' }, drawing('svg', { 'aria-hidden': 'true', focusable: 'false' }, shape)),
  );
}
