// Deadlines in the next 13 weeks. If they fit in one page of the list, one request serves the whole view. Otherwise
// each period is counted, and only the deadlines of the nearest are listed.

import { listAddress } from '../address.js';
import { barChart } from '../parts/bar-chart.js';
import { element } from '../dom.js';
import { formatNumber, formatShortDay, time } from '../format.js';
import { recordLink } from '../parts/links.js';

/** @typedef {import('../view.js').View} View */
/** @typedef {import('./lists.js').Solicitation} Solicitation */
/** @typedef {{ fromMs: number, toMs: number }} Period bounds are inclusive */

const DAY_MS = 86_400_000;
const WEEK_MS = 7 * DAY_MS;
const WEEKS = 13;

/** The ends of the periods, in weeks. */
const EACH_WEEK = Array.from({ length: WEEKS }, (_, index) => index + 1);
/** Each needs a request if the deadlines do not fit in one page. */
const FEW_PERIODS = [1, 4, WEEKS];

const MAX_PAGE_SIZE = '100';

/**
 * @param {View} view
 * @returns {Promise<Node[]>}
 */
export async function showTimeline(view) {
  const nowMs = await view.now();
  const page = await readPage(view, periodsFrom(nowMs, EACH_WEEK));
  const isAll = page.meta.next_cursor === null;
  const periods = periodsFrom(nowMs, isAll ? EACH_WEEK : FEW_PERIODS);
  const counts = isAll
    ? periods.map((period) => page.data.filter(({ close_at }) => isWithin(Date.parse(close_at ?? ''), period)).length)
    : await view.askEach(periods, (period) => view.count(closingWithin([period])));
  const total = counts.reduce((sum, it) => sum + it, 0);
  if (total === 0) return emptyTimeline();
  const near = isAll ? periods : periods.slice(0, countFitting(counts));
  const { data } = isAll || near.length === 0 ? page : await readPage(view, near);
  return [
    element('h2', { tabindex: '-1' }, 'Timeline of deadlines'),
    element(
      'p',
      {},
      `${formatNumber(total)} ${total === 1 ? 'solicitation' : 'solicitations'} with the status open `,
      `${total === 1 ? 'closes' : 'close'} in the next ${WEEKS} weeks. Days are in UTC, as in the API.`,
    ),
    barChart(
      'Solicitations with the status open, by their deadline',
      isAll ? 'Week' : 'Period',
      periods.map((period, index) => ({
        name: nameOf(period),
        address: listAddress('solicitations', closingWithin([period])),
        count: counts[index] ?? 0,
        tone: 'bar-open',
      })),
    ),
    ...(near.length > 0 && data.length > 0 ? deadlines(near, data, nowMs) : []),
  ];
}

function emptyTimeline() {
  return [
    element('h2', { tabindex: '-1' }, 'Timeline of deadlines'),
    element(
      'p',
      { class: 'empty' },
      `No solicitation that you see has the status open and a deadline in the next ${WEEKS} weeks. `,
      element('a', { href: listAddress('solicitations', { status: 'open' }) }, 'All with the status open'),
      ' include those without a deadline and those past it.',
    ),
  ];
}

/** How many of the first periods fit together in one page of the list. @param {readonly number[]} counts */
function countFitting(counts) {
  let sum = 0;
  const tooMany = counts.findIndex((count) => (sum += count) > Number(MAX_PAGE_SIZE));
  return tooMany === -1 ? counts.length : tooMany;
}

/**
 * @param {View} view
 * @param {readonly Period[]} periods
 * @returns {Promise<{ data: Solicitation[], meta: { next_cursor: string | null } }>}
 */
function readPage(view, periods) {
  return view.ask('/v1/solicitations', { ...closingWithin(periods), limit: MAX_PAGE_SIZE });
}

/** Consecutive periods: the first starts now, the others at midnight UTC. @param {number} nowMs @param {readonly number[]} ends in weeks @returns {Period[]} */
function periodsFrom(nowMs, ends) {
  const today = Math.floor(nowMs / DAY_MS) * DAY_MS;
  return ends.map((end, index) => ({
    fromMs: index === 0 ? nowMs : today + (ends[index - 1] ?? 0) * WEEK_MS,
    toMs: today + end * WEEK_MS - 1,
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

/** @param {Period} period */
function nameOf({ fromMs, toMs }) {
  return `${formatShortDay(fromMs)} to ${formatShortDay(toMs)}`;
}

/** @param {number} ms @param {Period} period */
function isWithin(ms, { fromMs, toMs }) {
  return ms >= fromMs && ms <= toMs;
}

/** @param {readonly Period[]} periods @param {readonly Solicitation[]} solicitations all that close in these weeks @param {number} nowMs */
function deadlines(periods, solicitations, nowMs) {
  const closeMs = (/** @type {Solicitation} */ { close_at }) => Date.parse(close_at ?? '');
  const byDeadline = solicitations.toSorted((one, other) => closeMs(one) - closeMs(other));
  return [
    element(
      'h3',
      {},
      periods.length === WEEKS ? 'By deadline' : `By deadline, until ${formatShortDay(periods.at(-1)?.toMs ?? nowMs)}`,
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
