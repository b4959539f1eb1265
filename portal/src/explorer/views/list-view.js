// A list as a table, page by page.

import { listAddress } from '../address.js';
import { element, table } from '../dom.js';
import { downloadSection } from '../parts/download.js';
import { filterForm } from '../parts/filter-form.js';
import { formatNumber } from '../format.js';
import { problemBox } from '../parts/problem-box.js';
import { AnswerError } from '../errors.js';

/** @typedef {import('./lists.js').List} List */
/** @typedef {import('../view.js').Counts} Counts */
/** @typedef {import('../view.js').View} View */
/** @typedef {{ data: object[], meta: { next_cursor: string | null } }} Page */

/**
 * The pages that lead to the one shown, which the browser keeps with its history entry across a reload.
 *
 * @returns {Map<string, string>} see `Known`
 */
export function readPreviousPages() {
  return history.state?.previousPages ?? new Map();
}

/**
 * @param {List} list
 * @param {URLSearchParams} parameters
 * @param {View} view
 * @returns {Promise<Node[]>}
 */
export async function showList(list, parameters, view) {
  const heading = element('h2', { tabindex: '-1' }, list.title);
  const form = filterForm(list, parameters, view);
  try {
    /** @type {Page} */
    const page = await view.ask(list.path, parameters);
    const counts = await readCounts(list, parameters, page, view);
    return [heading, form, ...showPage(list, parameters, page, counts, view)];
  } catch (error) {
    // Keep the form on a 400, so that the rejected value can be corrected.
    if (!(error instanceof AnswerError && error.status === 400)) throw error;
    form.open = true;
    return [heading, form, problemBox(error)];
  }
}

/**
 * The number of records on all pages, and of each status.
 *
 * @param {List} list
 * @param {URLSearchParams} parameters
 * @param {Page} page
 * @param {View} view
 * @returns {Promise<Counts>}
 */
async function readCounts({ path, countPath, statuses }, parameters, { data, meta }, view) {
  const total = !parameters.has('cursor') && meta.next_cursor === null ? data.length : null;
  if (countPath === undefined || (statuses === undefined && total !== null)) return { total, byStatus: null };
  const filters = withCursor(parameters, null);
  filters.delete('limit');
  const { counts: known } = view.known;
  const name = `${path}?${filters.toString()}`;
  const cached = parameters.has('cursor') ? known.get(name) : undefined;
  if (cached !== undefined) return cached;
  try {
    const counts =
      statuses === undefined
        ? { total: await view.count(countPath, filters), byStatus: null }
        : await countStatuses(countPath, statuses, filters, view);
    known.set(name, counts);
    return counts;
  } catch {
    // The page has arrived: it is shown without the numbers.
    view.signal.throwIfAborted();
    return { total, byStatus: null };
  }
}

/** @param {string} countPath @param {readonly string[]} statuses @param {URLSearchParams} filters @param {View} view @returns {Promise<Counts>} */
async function countStatuses(countPath, statuses, filters, view) {
  const byStatus = await view.askEach(statuses, (status) =>
    view.count(countPath, withParameter(filters, 'status', status)),
  );
  const chosen = filters.get('status')?.split(',') ?? statuses;
  const total = byStatus.reduce((sum, count, index) => sum + (chosen.includes(statuses[index] ?? '') ? count : 0), 0);
  return { total, byStatus };
}

/**
 * @param {List} list
 * @param {URLSearchParams} parameters
 * @param {Page} page
 * @param {Counts} counts
 * @param {View} view
 */
function showPage(list, parameters, { data, meta }, { total, byStatus }, view) {
  // The API's cursors lead forward only, so "Previous page" retraces the pages visited.
  const { previousPages } = view.known;
  const here = listAddress(list.view, parameters);
  const next = meta.next_cursor === null ? null : listAddress(list.view, withCursor(parameters, meta.next_cursor));
  if (next !== null) previousPages.set(next, here);
  history.replaceState({ previousPages }, '');
  const first = listAddress(list.view, withCursor(parameters, null));
  const isFirst = !parameters.has('cursor');
  const number = numberOf(here, previousPages, isFirst);
  const isLast = next === null;
  return [
    byStatus !== null && statusLinks(list, parameters, byStatus),
    element(
      'div',
      { class: 'list-head' },
      element('p', { class: 'count' }, countOf(data.length, total, number, isLast, parameters.size > 0)),
      data.length > 0 && downloadSection(list, parameters, view),
    ),
    ...(data.length > 0 ? tableOf(list, data, view) : []),
    element(
      'nav',
      { class: 'pages', 'aria-label': 'Pages' },
      !isFirst && element('a', { href: first }, 'First page'),
      previousPages.has(here) && element('a', { href: previousPages.get(here) ?? first, rel: 'prev' }, 'Previous page'),
      next !== null && element('a', { href: next, rel: 'next' }, 'Next page'),
    ),
  ].filter((part) => part !== false);
}

/** How many records each status has, with the other filters, as links. @param {List} list @param {URLSearchParams} parameters @param {readonly number[]} byStatus */
function statusLinks({ view, statuses = [] }, parameters, byStatus) {
  const filters = withCursor(parameters, null);
  const chosen = filters.get('status');
  const entries = [
    { name: 'all', status: null, count: byStatus.reduce((sum, count) => sum + count, 0) },
    ...statuses.map((status, index) => ({ name: status, status, count: byStatus[index] ?? 0 })),
  ];
  const links = entries.map(({ name, status, count }) =>
    element(
      'a',
      {
        href: listAddress(view, withParameter(filters, 'status', status)),
        'aria-current': status === chosen && 'true',
      },
      `${name} `,
      element('span', { class: 'number' }, formatNumber(count)),
    ),
  );
  return element('nav', { class: 'statuses', 'aria-label': 'By status' }, ...links);
}

/** The records in the order of the API, or, as long as the user wishes, by deadline. @param {List} list @param {readonly object[]} data @param {View} view */
function tableOf(list, data, view) {
  const { byDeadline } = list;
  const show = () => {
    const isSorted = byDeadline !== undefined && view.known.isSorted;
    const records = isSorted ? data.toSorted(byDeadline(view.now())) : data;
    return table(list.title, list.titles, records.map(list.cells), list.brief);
  };
  let shown = show();
  if (byDeadline === undefined || data.length < 2) return [shown];
  const box = element('input', { type: 'checkbox', checked: view.known.isSorted });
  box.addEventListener('change', () => {
    view.known.isSorted = box.checked;
    const sorted = show();
    shown.replaceWith(sorted);
    shown = sorted;
  });
  return [element('p', { class: 'sort' }, element('label', {}, box, ' Sort this page by deadline')), shown];
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
  return withParameter(parameters, 'cursor', cursor);
}

/** @param {URLSearchParams} parameters @param {string} name @param {string | null} value */
function withParameter(parameters, name, value) {
  const changed = new URLSearchParams(parameters);
  changed.delete(name);
  if (value !== null) changed.set(name, value);
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
