// A bar chart that is also a table: each row has a name, a number and a bar. The bars are hidden from screen readers,
// which read every number once. A chart library would weigh more than the whole portal.

import { drawing, element } from '../dom.js';
import { formatNumber } from '../format.js';

/**
 * @typedef {object} Bar
 * @property {string} name
 * @property {string} [address] of the list of its records
 * @property {string | false} [note] said below the name
 * @property {number} count
 * @property {number} [part] of the count, which the note is about: the end of the bar, in a lighter tone
 * @property {string} [tone] a class for its colour
 */

/**
 * @param {string} caption
 * @param {string} nameTitle
 * @param {readonly Bar[]} bars
 */
export function barChart(caption, nameTitle, bars) {
  const max = Math.max(1, ...bars.map(({ count }) => count));
  const titles = [nameTitle, 'Number'].map((title) => element('th', { scope: 'col' }, title));
  return element(
    'table',
    { class: 'bars' },
    element('caption', {}, caption),
    element('thead', {}, element('tr', {}, ...titles, element('td', { class: 'bar' }))),
    element('tbody', {}, ...bars.map((bar) => row(bar, max))),
  );
}

/** @param {Bar} bar @param {number} max */
function row({ name, note = false, address, count, part = 0, tone = '' }, max) {
  const shapes = part === 0 ? [bar(count, max, tone)] : [bar(count, max, `${tone} part`), bar(count - part, max, tone)];
  return element(
    'tr',
    {},
    element(
      'th',
      { scope: 'row' },
      address === undefined ? name : element('a', { href: address }, name),
      note && element('span', { class: 'note' }, ' ', note),
    ),
    element('td', { class: 'number' }, formatNumber(count)),
    element('td', { class: 'bar' }, drawing('svg', { 'aria-hidden': 'true', focusable: 'false' }, ...shapes)),
  );
}

/** @param {number} count @param {number} max @param {string} tone */
function bar(count, max, tone) {
  const length = count === 0 ? 0 : Math.max(0.5, (100 * count) / max);
  return drawing('rect', { width: `${length.toFixed(2)}%`, height: '100%', rx: '3', class: tone });
}
