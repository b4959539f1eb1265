// Searches every kind that the key can read for the same words.

import { listAddress } from '../address.js';
import { element } from '../dom.js';
import { recordRows } from '../parts/record-rows.js';
import { LISTS } from './lists.js';

/** @typedef {import('../view.js').View} View */
/** @typedef {import('./list-view.js').Page} Page */

/** Records of a kind. */
const SHOWN = '5';

/**
 * @param {URLSearchParams} parameters
 * @param {View} view
 * @returns {Promise<Node[]>}
 */
export async function showSearch(parameters, view) {
  const q = parameters.get('q') ?? '';
  const heading = element('h2', { tabindex: '-1' }, q === '' ? 'Search' : `Search for “${q}”`);
  if (q === '') return [heading, element('p', {}, 'Enter words above.')];
  const lists = LISTS.filter((list) => view.canRead(list.view));
  const found = await view.askEach(lists, async (list) => {
    /** @type {Page} */
    const page = await view.ask(list.path, { q, limit: SHOWN });
    return { list, page };
  });
  const matching = found.filter(({ page }) => page.data.length > 0);
  const others = found.filter(({ page }) => page.data.length === 0).map(({ list }) => list.title.toLowerCase());
  return [
    heading,
    ...matching.flatMap(({ list, page }) => [
      element(
        'div',
        { class: 'found' },
        element('h3', {}, list.title),
        element(
          'a',
          { href: listAddress(list.view, { q }) },
          page.meta.next_cursor === null ? 'As a list' : 'All that match',
          element('span', { class: 'visually-hidden' }, ` in ${list.title.toLowerCase()}`),
        ),
      ),
      recordRows(list, page.data),
    ]),
    others.length > 0 && element('p', { class: 'muted' }, `Nothing matches in ${others.join(', ')}.`),
  ].filter((part) => part !== false);
}
