// Deadlines in the next 13 weeks. If they fit in one page of the list, one request serves the whole view. Otherwise
// each week is counted, and only the deadlines of the nearest weeks are listed.

import { listAddress } from './address.js';
import { barChart } from './bar-chart.js';
import { element } from './dom.js';
import { formatNumber, formatShortDay, time } from './format.js';
import { recordLink } from './links.js';

/** @typedef {import('./view.js').View} View */
/** @typedef {import('./lists.js').Solicitation} Solicitation */
/** @typedef {{ fromMs: number, toMs: number }} Week bounds are inclusive */

const DAY_MS = 86_400_000;
const WEEK_MS = 7 * DAY_MS;
const WEEKS = 13;
const MAX_PAGE_SIZE = '100';

/**
 * @param {View} view
 * @returns {Promise<Node[]>}
 */
export async function showTimeline(view) {
  const nowMs = await view.now();
  const weeks = weeksFrom(nowMs);
  const page = await readPage(view, weeks);
  const isAll = page.meta.next_cursor === null;
  const counts = isAll
    ? weeks.map((week) => page.data.filter(({ close_at }) => isWithin(Date.parse(close_at ?? ''), week)).length)
    : await view.askEach(weeks, (week) => view.count(closingWithin([week])));
  const total = counts.reduce((sum, it) => sum + it, 0);
  const near = isAll ? weeks : weeks.slice(0, countFitting(counts));
  const { data } = isAll || near.length === 0 ? page : await readPage(view, near);
  return [
    element('h2', { tabindex: '-1' }, 'Timeline of deadlines'),
    element(
      'p',
      {},
      `${formatNumber(total)} open ${total === 1 ? 'solicitation closes' : 'solicitations close'} in the next ${WEEKS} `,
      'weeks. Days are those of UTC, as the interface serves them.',
    ),
    barChart(
      'Open solicitations by the week of their deadline',
      'Week',
      weeks.map((week, index) => ({
        name: nameOf(week),
        address: listAddress('solicitations', closingWithin([week])),
        count: counts[index] ?? 0,
        tone: 'bar-open',
      })),
    ),
    ...(near.length > 0 && data.length > 0 ? deadlines(near, data, nowMs) : []),
  ];
}

/** How many of the first weeks fit together in one page of the list. @param {readonly number[]} counts */
function countFitting(counts) {
  let sum = 0;
  const tooMany = counts.findIndex((count) => (sum += count) > Number(MAX_PAGE_SIZE));
  return tooMany === -1 ? counts.length : tooMany;
}

/**
 * @param {View} view
 * @param {readonly Week[]} weeks
 * @returns {Promise<{ data: Solicitation[], meta: { next_cursor: string | null } }>}
 */
function readPage(view, weeks) {
  return view.ask('/v1/solicitations', { ...closingWithin(weeks), limit: MAX_PAGE_SIZE });
}

/** Weeks that do not overlap: the first starts now, the others at midnight UTC. @param {number} nowMs @returns {Week[]} */
function weeksFrom(nowMs) {
  const today = Math.floor(nowMs / DAY_MS) * DAY_MS;
  return Array.from({ length: WEEKS }, (_, index) => ({
    fromMs: index === 0 ? nowMs : today + index * WEEK_MS,
    toMs: today + (index + 1) * WEEK_MS - 1,
  }));
}

/** The API's bounds are inclusive. @param {readonly Week[]} weeks consecutive */
function closingWithin(weeks) {
  return {
    status: 'open',
    closing_after: new Date(weeks[0]?.fromMs ?? 0).toISOString(),
    closing_before: new Date(weeks.at(-1)?.toMs ?? 0).toISOString(),
  };
}

/** @param {Week} week */
function nameOf({ fromMs, toMs }) {
  return `${formatShortDay(fromMs)} to ${formatShortDay(toMs)}`;
}

/** @param {number} ms @param {Week} week */
function isWithin(ms, { fromMs, toMs }) {
  return ms >= fromMs && ms <= toMs;
}

/** @param {readonly Week[]} weeks @param {readonly Solicitation[]} solicitations all that close in these weeks @param {number} nowMs */
function deadlines(weeks, solicitations, nowMs) {
  const closeMs = (/** @type {Solicitation} */ { close_at }) => Date.parse(close_at ?? '');
  const byDeadline = solicitations.toSorted((one, other) => closeMs(one) - closeMs(other));
  return [
    element(
      'h3',
      {},
      weeks.length === WEEKS ? 'By deadline' : `By deadline, until ${formatShortDay(weeks.at(-1)?.toMs ?? nowMs)}`,
    ),
    element(
      'ol',
      { class: 'deadlines' },
      ...byDeadline.map((solicitation) =>
        element(
          'li',
          {},
          element(
            'p',
            { class: 'when' },
            time(solicitation.close_at),
            ` (${untilThen(closeMs(solicitation) - nowMs)})`,
          ),
          recordLink('solicitations', solicitation.id, solicitation.title),
          element('p', { class: 'muted' }, solicitation.lead_entity.name),
        ),
      ),
    ),
  ];
}

/** @param {number} ms */
function untilThen(ms) {
  const days = Math.floor(ms / DAY_MS);
  if (days === 0) return 'within a day';
  return days === 1 ? 'in a day' : `in ${days} days`;
}
