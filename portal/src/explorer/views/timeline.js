// Deadlines to come: bars of equal periods, and the nearest as a list. The API sorts no list by deadline, so all of them
// are read, as one stream; if they are too many, those of shorter periods.

import { listAddress } from '../address.js';
import { barChart } from '../parts/bar-chart.js';
import { button, element } from '../dom.js';
import { DAY_MS, formatDistance, formatNumber, formatShortDay, formatShortTime, time } from '../format.js';
import { recordLink } from '../parts/links.js';

/** @typedef {import('../view.js').View} View */
/** @typedef {import('./lists.js').Solicitation} Solicitation */
/** @typedef {{ fromMs: number, toMs: number }} Period bounds are inclusive */

const PERIODS = 13;

/** @typedef {{ name: string, ms: number }} Unit */
const WEEK = { name: 'week', ms: 7 * DAY_MS };
const SHORTER = [
  { name: 'day', ms: DAY_MS },
  { name: 'hour', ms: DAY_MS / 24 },
];

/** Deadlines read at most, for up to five requests of the limit; more of them only if they are in 13 hours. */
const MAX_READ = 10_000;

/** Deadlines listed at once. */
const SHOWN = 25;

/**
 * @param {View} view
 * @returns {Promise<Node[]>}
 */
export async function showTimeline(view) {
  const nowMs = view.now();
  const { unit, total } = await chooseUnit(view, nowMs);
  const periods = periodsFrom(nowMs, unit.ms);
  const within = `in the next ${PERIODS} ${unit.name}s`;
  const heading = element('h2', { tabindex: '-1' }, 'Timeline of deadlines');
  if (total === 0) return [heading, emptyNote(within)];
  /** @type {Solicitation[]} */
  const solicitations = await view.readAll('/v1/solicitations', closingWithin(periods));
  const all = solicitations.toSorted((one, other) => closeMs(one) - closeMs(other));
  return [
    heading,
    element(
      'p',
      {},
      `${formatNumber(all.length)} ${all.length === 1 ? 'solicitation' : 'solicitations'} with the status open `,
      `${all.length === 1 ? 'closes' : 'close'} ${within}. All times are in UTC.`,
    ),
    barChart(
      'Solicitations with the status open, by their deadline',
      `${unit.name[0]?.toUpperCase()}${unit.name.slice(1)} (UTC)`,
      periods.map((period) => ({
        name: nameOf(period, unit),
        address: listAddress('solicitations', closingWithin([period])),
        count: all.filter(
          (solicitation) => closeMs(solicitation) >= period.fromMs && closeMs(solicitation) <= period.toMs,
        ).length,
        tone: 'bar-open',
      })),
    ),
    element('h3', {}, 'Nearest deadlines'),
    ...nearest(all, nowMs),
  ];
}

/**
 * The longest period of which 13 have no more deadlines than are read.
 *
 * @param {View} view
 * @param {number} nowMs
 * @returns {Promise<{ unit: Unit, total: number }>}
 */
async function chooseUnit(view, nowMs) {
  const countIn = (/** @type {Unit} */ { ms }) => view.count(closingWithin(periodsFrom(nowMs, ms)));
  let chosen = { unit: WEEK, total: await countIn(WEEK) };
  for (const unit of SHORTER) {
    if (chosen.total <= MAX_READ) break;
    chosen = { unit, total: await countIn(unit) };
  }
  return chosen;
}

/** @param {string} within */
function emptyNote(within) {
  return element(
    'p',
    { class: 'empty' },
    `No solicitation that you see has the status open and a deadline ${within}. `,
    element('a', { href: listAddress('solicitations', { status: 'open' }) }, 'All with the status open'),
    ' include those without a deadline and those past it.',
  );
}

/** Consecutive periods: the first starts now, the others at full days or hours in UTC. @param {number} nowMs @param {number} unitMs @returns {Period[]} */
function periodsFrom(nowMs, unitMs) {
  const stepMs = Math.min(unitMs, DAY_MS);
  const startMs = Math.floor(nowMs / stepMs) * stepMs;
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

/** @param {Period} period @param {Unit} unit */
function nameOf({ fromMs, toMs }, { name }) {
  if (name === 'week') return `${formatShortDay(fromMs)} to ${formatShortDay(toMs)}`;
  return name === 'day' ? formatShortDay(fromMs) : `${formatShortDay(fromMs)}, from ${formatShortTime(fromMs)}`;
}

/** @param {Solicitation} solicitation */
function closeMs({ close_at }) {
  return Date.parse(close_at ?? '');
}

/** @param {readonly Solicitation[]} all by deadline @param {number} nowMs */
function nearest(all, nowMs) {
  const list = element('ol', { class: 'deadlines' });
  const more = button('', () => {
    const first = list.children.length;
    showMore();
    list.children[first]?.querySelector('a')?.focus();
  });
  const showMore = () => {
    const listedCount = list.children.length;
    list.append(...all.slice(listedCount, listedCount + SHOWN).map((solicitation) => deadline(solicitation, nowMs)));
    const left = all.length - list.children.length;
    more.textContent = left > SHOWN ? `Show ${SHOWN} more of ${formatNumber(left)}` : `Show the last ${left}`;
    more.hidden = left === 0;
  };
  showMore();
  return [list, element('p', { class: 'actions' }, more)];
}

/** @param {Solicitation} solicitation @param {number} nowMs */
function deadline(solicitation, nowMs) {
  return element(
    'li',
    {},
    element('p', { class: 'when' }, time(solicitation.close_at)),
    element('p', { class: 'distance muted' }, formatDistance(closeMs(solicitation) - nowMs)),
    element(
      'div',
      {},
      recordLink('solicitations', solicitation.id, solicitation.title),
      element('p', { class: 'muted' }, solicitation.lead_entity.name),
    ),
  );
}
