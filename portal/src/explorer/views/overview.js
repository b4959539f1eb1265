// Summarizes the records that the key sees in at most eight requests: numbers, next deadlines and last changes.

import { listAddress } from '../address.js';
import { barChart } from '../parts/bar-chart.js';
import { button, element } from '../dom.js';
import { DAY_MS, formatDistance, formatNumber, formatShortDay, time } from '../format.js';
import { LISTS } from './lists.js';
import { recordLink } from '../parts/links.js';
import { recordRows, rows } from '../parts/record-rows.js';
import { STATUSES } from '../parts/status.js';

/** @typedef {import('../view.js').View} View */
/** @typedef {import('./lists.js').List} List */
/** @typedef {import('./lists.js').Solicitation} Solicitation */
/** @typedef {import('./list-view.js').Page} Page */
/** @typedef {{ fromMs: number, toMs: number }} Period bounds are inclusive */

const MAX_REQUESTS = 8;

/** Of these `meta.totals` of the feed has the numbers. */
const COUNTED = LISTS.filter(({ countPath }) => countPath !== undefined);
const REFERENCE_LISTS = LISTS.filter(({ countPath }) => countPath === undefined);

/** Kinds whose last changes are listed: each is a request. */
const CHANGED_KINDS = 2;
const CHANGED_SHOWN = 8;

const PERIODS = 13;

/** With more open solicitations, deadlines are read and shown by day, not by week. */
const MAX_BY_WEEK = 10_000;

const NEXT_SHOWN = 10;
const MORE_SHOWN = 25;

const CHART_PIXELS = 210;

/**
 * @param {View} view
 * @param {import('../view.js').Key} key
 * @returns {Promise<Node[]>}
 */
export async function showOverview(view, key) {
  const heading = element('h2', { tabindex: '-1' }, 'Overview');
  const kinds = COUNTED.filter((list) => view.canRead(list.view));
  const { data_published_at: publishedAt, data_checked_at: checkedAt } = key;
  if (publishedAt === null) return [heading, element('p', { class: 'empty' }, 'No data has been published yet.')];
  const [released, statuses, sizes] = await Promise.all([
    readReleased(view, kinds, publishedAt),
    view.canRead('solicitations') ? readStatuses(view) : null,
    readSizes(view, kinds),
  ]);
  const totals = { ...released.totals, ...sizes };
  return [
    heading,
    element(
      'p',
      { class: 'muted' },
      'Newest data: ',
      time(publishedAt),
      ...(checkedAt === null ? [] : ['. Last checked: ', time(checkedAt)]),
      '.',
    ),
    tiles([...kinds, ...REFERENCE_LISTS.filter((list) => list.view in sizes)], totals),
    element(
      'div',
      { class: 'panels' },
      statuses !== null && column(...deadlinePanels(view, statuses)),
      kinds.length > 0 &&
        column(
          statuses !== null && totals['solicitations'] !== 0 && statusPanel(statuses.counts, totals['solicitations']),
          changedPanel(released.lists, kinds, publishedAt),
        ),
    ),
  ];
}

/**
 * Reads the changes of the newest release, and the number of records of each kind.
 *
 * @param {View} view
 * @param {readonly List[]} kinds
 * @param {string} publishedAt
 */
async function readReleased(view, kinds, publishedAt) {
  const changed = kinds.slice(0, CHANGED_KINDS);
  const limit = `${CHANGED_SHOWN / Math.max(1, changed.length)}`;
  /** @type {{ list: List, page: Page }[]} */
  const lists = [];
  for (const list of changed) {
    lists.push({ list, page: await view.ask(list.path, { updated_since: publishedAt, limit }) });
  }
  /** @type {Record<string, number>} */
  let totals = {};
  if (changed.length > 0) {
    // Since the lists' watermark nothing has changed: a page, the last, without records.
    const { meta } = await view.ask('/v1/changes', { updated_since: view.watermark ?? publishedAt });
    // None if something was published in between.
    totals = meta.totals ?? {};
  }
  return { lists, totals };
}

/** The numbers of records of the reference lists, if these can be read within the number of requests. @param {View} view @param {readonly List[]} kinds */
async function readSizes(view, kinds) {
  /** @type {Record<string, number>} */
  const sizes = {};
  const lists = REFERENCE_LISTS.filter((list) => view.canRead(list.view));
  const ofKinds = kinds.length === 0 ? 0 : Math.min(kinds.length, CHANGED_KINDS) + 1;
  const requests = 1 + ofKinds + (view.canRead('solicitations') ? STATUSES.length : 0);
  if (requests + lists.length > MAX_REQUESTS) return sizes;
  for (const { view: name, path } of lists) sizes[name] = (await view.readAll(path, {})).length;
  return sizes;
}

/** @param {readonly List[]} lists @param {Readonly<Record<string, number>>} totals */
function tiles(lists, totals) {
  return element(
    'ul',
    { class: 'tiles' },
    ...lists.map(({ view, title }) => {
      const total = totals[view];
      const number = element('strong', {}, total === undefined ? '–' : formatNumber(total));
      return element('li', {}, element('a', { href: listAddress(view) }, number, ' ', title));
    }),
  );
}

/** @typedef {{ counts: readonly number[], nowMs: number, periods: readonly Period[], unit: string, next: readonly Solicitation[] }} Statuses */

/**
 * The number of solicitations of each status but the last, and those that close soon, by deadline.
 *
 * @param {View} view
 * @returns {Promise<Statuses>}
 */
async function readStatuses(view) {
  const nowMs = view.now();
  /** @type {number[]} */
  const counts = [];
  for (const status of STATUSES.slice(0, -1)) counts.push(await view.count('/v1/solicitations/count', { status }));
  const [open = 0] = counts;
  const unit = open > MAX_BY_WEEK ? 'day' : 'week';
  const periods = periodsFrom(nowMs, unit === 'day' ? DAY_MS : 7 * DAY_MS);
  /** @type {Solicitation[]} */
  const closing = open === 0 ? [] : await view.readAll('/v1/solicitations', closingWithin(periods));
  return { counts, nowMs, periods, unit, next: closing.toSorted((one, other) => closeMs(one) - closeMs(other)) };
}

/** @param {View} view @param {Statuses} statuses */
function deadlinePanels(view, { nowMs, periods, unit, next }) {
  const within = `in the next ${PERIODS} ${unit}s`;
  if (next.length === 0) {
    const none = element('p', { class: 'muted' }, `No solicitation that you see is open and closes ${within}.`);
    return [panel('Next deadlines', none)];
  }
  const closing = `${formatNumber(next.length)} open ${next.length === 1 ? 'solicitation closes' : 'solicitations close'}`;
  const bars = periods.map((period) => ({
    name:
      unit === 'day'
        ? formatShortDay(period.fromMs)
        : `${formatShortDay(period.fromMs)} to ${formatShortDay(period.toMs)}`,
    label: formatShortDay(period.fromMs),
    address: listAddress('solicitations', closingWithin([period])),
    count: next.filter((each) => closeMs(each) >= period.fromMs && closeMs(each) <= period.toMs).length,
  }));
  return [
    panel(
      `Deadlines by ${unit}`,
      element('p', { class: 'muted' }, `${closing} ${within}. Times are in UTC.`),
      barChart(`${closing} ${within}`, unit === 'day' ? 'Day (UTC)' : 'Week (UTC)', bars, view, CHART_PIXELS),
    ),
    panel('Next deadlines', ...nextDeadlines(next, nowMs)),
  ];
}

/** Consecutive periods: the first starts now, the others at full days in UTC. @param {number} nowMs @param {number} unitMs @returns {Period[]} */
function periodsFrom(nowMs, unitMs) {
  const startMs = Math.floor(nowMs / DAY_MS) * DAY_MS;
  return Array.from({ length: PERIODS }, (_, index) => ({
    fromMs: index === 0 ? nowMs : startMs + index * unitMs,
    toMs: startMs + (index + 1) * unitMs - 1,
  }));
}

/** The API's bounds are inclusive. @param {readonly Period[]} periods consecutive */
function closingWithin(periods) {
  return {
    status: 'open',
    closing_after: new Date(periods[0]?.fromMs ?? 0).toISOString(),
    closing_before: new Date(periods.at(-1)?.toMs ?? 0).toISOString(),
  };
}

/** @param {Solicitation} solicitation */
function closeMs({ close_at: closeAt }) {
  return Date.parse(closeAt ?? '');
}

/** One stacked bar, and its parts as links. @param {readonly number[]} counts of all statuses but the last @param {number | undefined} total */
function statusPanel(counts, total) {
  const sum = counts.reduce((one, other) => one + other, 0);
  const all = total === undefined ? counts : [...counts, Math.max(0, total - sum)];
  const parts = all.map((count, index) => ({ status: STATUSES[index] ?? '', count }));
  const bar = element('div', { class: 'stack', 'aria-hidden': 'true' });
  for (const { status, count } of parts) {
    const part = element('span', { class: `tone-${status}` });
    part.style.flexGrow = `${count}`;
    if (count > 0) bar.append(part);
  }
  const legend = parts.map(({ status, count }) =>
    element(
      'li',
      {},
      element('span', { class: `dot tone-${status}` }),
      element('a', { href: listAddress('solicitations', { status }) }, status),
      element('span', { class: 'number' }, formatNumber(count)),
    ),
  );
  return panel('Solicitations by status', bar, element('ul', { class: 'legend' }, ...legend));
}

/** @param {readonly Solicitation[]} next by deadline @param {number} nowMs */
function nextDeadlines(next, nowMs) {
  const toRow = (/** @type {Solicitation} */ each) => ({
    lead: formatDistance(closeMs(each) - nowMs),
    name: recordLink('solicitations', each.id, each.title),
    notes: [time(each.close_at), each.lead_entity.name],
  });
  const list = rows(next.slice(0, NEXT_SHOWN).map(toRow));
  const more = button('', () => {
    const first = list.children.length;
    list.append(...rows(next.slice(first, first + MORE_SHOWN).map(toRow)).children);
    list.children[first]?.querySelector('a')?.focus();
    nameMore();
  });
  const nameMore = () => {
    const left = next.length - list.children.length;
    more.textContent = left > MORE_SHOWN ? `Show ${MORE_SHOWN} more of ${formatNumber(left)}` : `Show the last ${left}`;
    more.hidden = left === 0;
  };
  nameMore();
  return [list, more];
}

/** @param {readonly { list: List, page: Page }[]} lists @param {readonly List[]} kinds @param {string} publishedAt */
function changedPanel(lists, kinds, publishedAt) {
  const links = kinds.flatMap(({ view, title }, index) => [
    index === 0 ? '' : ', ',
    element('a', { href: listAddress(view, { updated_since: publishedAt }) }, title.toLowerCase()),
  ]);
  const changed = lists.filter(({ page }) => page.data.length > 0);
  return panel(
    'Changed last',
    ...changed.flatMap(({ list, page }) => [element('h4', {}, list.title), recordRows(list, page.data)]),
    changed.length === 0 &&
      element(
        'p',
        { class: 'muted' },
        'The newest release changed no ',
        lists.map(({ list }) => list.title.toLowerCase()).join(' or '),
        ' that you see.',
      ),
    element('p', {}, 'All that the newest release changed: ', ...links, '.'),
  );
}

/** @param {...import('../dom.js').Child} panels */
function column(...panels) {
  return element('div', { class: 'column' }, ...panels);
}

/** @param {string} title @param {...import('../dom.js').Child} parts */
function panel(title, ...parts) {
  return element('section', { class: 'panel', 'aria-label': title }, element('h3', {}, title), ...parts);
}
