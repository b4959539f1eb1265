// Counts of solicitations by status and by lead entity. No other resource has an endpoint that counts.

import { listAddress } from '../address.js';
import { barChart } from '../parts/bar-chart.js';
import { element } from '../dom.js';
import { formatNumber } from '../format.js';
import { LeadEntityCounts } from './lead-entity-counts.js';
import { STATUSES } from '../parts/status.js';

/** @typedef {import('../view.js').View} View */

/**
 * @param {View} view
 * @returns {Promise<Node[]>}
 */
export async function showOverview(view) {
  const nowMs = view.now();
  const live = { status: 'open', closing_after: new Date(nowMs).toISOString() };
  const past = { status: 'open', closing_before: new Date(nowMs - 1).toISOString() };
  const filters = [...STATUSES.map((status) => ({ status })), live, past];
  const numbers = await view.askEach(filters, (each) => view.count(each));
  const [liveCount = 0, pastCount = 0] = numbers.splice(STATUSES.length);
  const counts = numbers;
  const total = counts.reduce((sum, count) => sum + count, 0);
  const byStatus = STATUSES.map((status, index) => ({
    name: status,
    address: listAddress('solicitations', { status }),
    count: counts[index] ?? 0,
    tone: `bar-${status}`,
  }));
  // No filter of the API selects those without a deadline.
  const endless = Math.max(0, (counts[STATUSES.indexOf('open')] ?? 0) - liveCount - pastCount);
  return [
    element('h2', { tabindex: '-1' }, 'Overview'),
    element(
      'p',
      {},
      `You see ${formatNumber(total)} ${total === 1 ? 'solicitation' : 'solicitations'}. `,
      element(
        'a',
        { href: listAddress('solicitations', live) },
        `${formatNumber(liveCount)} have the status open and a deadline to come`,
      ),
      '. “Open” is a status, and stays after the deadline; the field ',
      element('code', {}, 'is_open'),
      ' says whether a solicitation accepts bids now.',
    ),
    barChart('Solicitations by status', 'Status', byStatus),
    barChart('Solicitations with the status open', 'Deadline', [
      {
        name: 'accepts bids now',
        note: endless > 0 && `${formatNumber(endless)} of them without a deadline`,
        count: liveCount + endless,
        part: endless,
        tone: 'bar-open',
      },
      { name: 'past its deadline', count: pastCount, address: listAddress('solicitations', past), tone: 'bar-closed' },
    ]),
    ...(view.canRead('lead-entities') ? [new LeadEntityCounts(view).node] : []),
  ];
}
