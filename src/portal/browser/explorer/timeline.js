// Deadlines of the next weeks. While they fit in one page of the list, one request shows them all; with more, each week
// is counted.

import { listAddress, recordAddress } from './address.js';
import { barChart } from './bar-chart.js';
import { element } from './dom.js';
import { formatNumber, formatShortDay, time } from './format.js';

/** @typedef {import('./view.js').View} View */
/** @typedef {import('./lists.js').Solicitation} Solicitation */
/** @typedef {{ fromMs: number, toMs: number }} Week both within it */

const DAY_MS = 86_400_000;
const WEEK_MS = 7 * DAY_MS;
const WEEKS = 13;
const LARGEST_PAGE = '100';

/**
 * @param {View} view
 * @param {number} nowMs
 * @returns {Promise<Node[]>}
 */
export async function showTimeline(view, nowMs) {
  const weeks = weeksFrom(nowMs);
  const first = weeks[0] ?? { fromMs: nowMs, toMs: nowMs };
  const all = closingWithin({ fromMs: first.fromMs, toMs: weeks.at(-1)?.toMs ?? nowMs });
  /** @type {{ data: Solicitation[], meta: { next_cursor: string | null } }} */
  const { data, meta } = await view.ask('/v1/solicitations', { ...all, limit: LARGEST_PAGE });
  const isAll = meta.next_cursor === null;
  const counts = isAll
    ? weeks.map((week) => data.filter(({ close_at }) => isWithin(Date.parse(close_at ?? ''), week)).length)
    : await view.askEach(weeks, (week) => view.count(closingWithin(week)));
  const total = counts.reduce((sum, it) => sum + it, 0);
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
        name: `${formatShortDay(week.fromMs)} to ${formatShortDay(week.toMs)}`,
        address: listAddress('solicitations', closingWithin(week)),
        count: counts[index] ?? 0,
        tone: 'bar-open',
      })),
    ),
    ...(isAll && data.length > 0 ? deadlines(data, nowMs) : []),
  ];
}

/** From now on, the first for seven days; none overlaps. @param {number} nowMs @returns {Week[]} */
function weeksFrom(nowMs) {
  const today = Math.floor(nowMs / DAY_MS) * DAY_MS;
  return Array.from({ length: WEEKS }, (_, index) => ({
    fromMs: index === 0 ? nowMs : today + index * WEEK_MS,
    toMs: today + (index + 1) * WEEK_MS - 1,
  }));
}

/** The interface's bounds are inclusive. @param {Week} week */
function closingWithin({ fromMs, toMs }) {
  return {
    status: 'open',
    closing_after: new Date(fromMs).toISOString(),
    closing_before: new Date(toMs).toISOString(),
  };
}

/** @param {number} ms @param {Week} week */
function isWithin(ms, { fromMs, toMs }) {
  return ms >= fromMs && ms <= toMs;
}

/** @param {readonly Solicitation[]} solicitations @param {number} nowMs */
function deadlines(solicitations, nowMs) {
  const closeMs = (/** @type {Solicitation} */ { close_at }) => Date.parse(close_at ?? '');
  const byDeadline = solicitations.toSorted((one, other) => closeMs(one) - closeMs(other));
  return [
    element('h3', {}, 'By deadline'),
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
          element('a', { href: recordAddress('solicitations', solicitation.id) }, solicitation.title),
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
