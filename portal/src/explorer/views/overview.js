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
  const counts = await view.askEach(STATUSES, (status) => view.count({ status }));
  const live = { status: 'open', closing_after: new Date(await view.now()).toISOString() };
  const liveCount = await view.count(live);
  const total = counts.reduce((sum, it) => sum + it, 0);
  const byStatus = STATUSES.map((status, index) => ({
    name: status,
    address: listAddress('solicitations', { status }),
    count: counts[index] ?? 0,
    tone: `bar-${status}`,
  }));
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
    new LeadEntityCounts(view).node,
  ];
}
