// A list as a table, page by page.

import { listAddress } from '../address.js';
import { element, table } from '../dom.js';
import { downloadSection } from '../parts/download.js';
import { filterForm } from '../parts/filter-form.js';
import { formatNumber } from '../format.js';
import { problemBox } from '../parts/problem-box.js';
import { AnswerError } from '../errors.js';

/** @typedef {import('./lists.js').List} List */
/** @typedef {import('../view.js').View} View */
/** @typedef {{ data: object[], meta: { next_cursor: string | null } }} Page */

/**
 * The pages that lead to the one shown, which the browser keeps with its history entry across a reload.
 *
 * @returns {Map<string, string>} see `showList`
 */
export function readPreviousPages() {
  return history.state?.previousPages ?? new Map();
}

/**
 * @param {List} list
 * @param {URLSearchParams} parameters
 * @param {View} view
 * @param {Map<string, string>} previousPages address of a page → address of the page before it. The API's cursors
 *   lead forward only, so "Previous page" retraces the pages visited
 * @returns {Promise<Node[]>}
 */
export async function showList(list, parameters, view, previousPages) {
  const heading = element('h2', { tabindex: '-1' }, list.title);
  const form = filterForm(list, parameters, view);
  try {
    /** @type {Page} */
    const page = await view.ask(list.path, parameters);
    const total = await findTotal(list, parameters, page, view);
    return [heading, form, ...showPage(list, parameters, page, total, previousPages, view)];
  } catch (error) {
    // Keep the form on a 400, so that the rejected value can be corrected.
    if (!(error instanceof AnswerError && error.status === 400)) throw error;
    form.open = true;
    return [heading, form, problemBox(error)];
  }
}

/**
 * The number of records on all pages.
 *
 * @param {List} list
 * @param {URLSearchParams} parameters
 * @param {Page} page
 * @param {View} view
 * @returns {Promise<number | null>} null if no request counts them
 */
async function findTotal({ countPath }, parameters, { data, meta }, view) {
  if (!parameters.has('cursor') && meta.next_cursor === null) return data.length;
  if (countPath === undefined) return null;
  const filters = withCursor(parameters, null);
  filters.delete('limit');
  try {
    return (await view.ask(countPath, filters)).total;
  } catch {
    // The page has arrived: it is shown without the total.
    view.signal.throwIfAborted();
    return null;
  }
}

/**
 * @param {List} list
 * @param {URLSearchParams} parameters
 * @param {Page} page
 * @param {number | null} total
 * @param {Map<string, string>} previousPages
 * @param {View} view
 */
function showPage(list, parameters, { data, meta }, total, previousPages, view) {
  const here = listAddress(list.view, parameters);
  const next = meta.next_cursor === null ? null : listAddress(list.view, withCursor(parameters, meta.next_cursor));
  if (next !== null) previousPages.set(next, here);
  history.replaceState({ previousPages }, '');
  const first = listAddress(list.view, withCursor(parameters, null));
  const isFirst = !parameters.has('cursor');
  const number = numberOf(here, previousPages, isFirst);
  const isLast = next === null;
  return [
    element(
      'div',
      { class: 'list-head' },
      element('p', { class: 'count' }, countOf(data.length, total, number, isLast, parameters.size > 0)),
      data.length > 0 && downloadSection(list, parameters, view),
    ),
    data.length > 0 && table(list.title, list.titles, data.map(list.cells), list.brief),
    element(
      'nav',
      { class: 'pages', 'aria-label': 'Pages' },
      !isFirst && element('a', { href: first }, 'First page'),
      previousPages.has(here) && element('a', { href: previousPages.get(here) ?? first, rel: 'prev' }, 'Previous page'),
      next !== null && element('a', { href: next, rel: 'next' }, 'Next page'),
    ),
  ].filter((part) => part !== false);
}

/**
 * @param {number} recordCount
 * @param {number | null} total
 * @param {number | null} page
 * @param {boolean} isLast
 * @param {boolean} isFiltered
 */
function countOf(recordCount, total, page, isLast, isFiltered) {
  if (recordCount === 0)
    return isFiltered ? 'Nothing matches. Change or clear the filters above.' : 'Your key sees none.';
  const records = (/** @type {number} */ count) => `${formatNumber(count)} ${count === 1 ? 'record' : 'records'}`;
  if (recordCount === total) return `${records(recordCount)} in total.`;
  const counted = total === null ? records(recordCount) : `${formatNumber(recordCount)} of ${records(total)}`;
  return `${counted}${page === null ? '' : `, page ${formatNumber(page)}`}${isLast ? ', the last' : '; more follow'}.`;
}

/** @param {URLSearchParams} parameters @param {string | null} cursor */
function withCursor(parameters, cursor) {
  const changed = new URLSearchParams(parameters);
  changed.delete('cursor');
  if (cursor !== null) changed.set('cursor', cursor);
  return changed;
}

/** @param {string} address @param {Map<string, string>} previousPages @param {boolean} isFirst @returns {number | null} null if it was not reached from the first page */
function numberOf(address, previousPages, isFirst) {
  if (isFirst) return 1;
  let number = 1;
  let current = address;
  for (let before = previousPages.get(current); before !== undefined; before = previousPages.get(current)) {
    number++;
    current = before;
  }
  return current.includes('cursor=') ? null : number;
}
