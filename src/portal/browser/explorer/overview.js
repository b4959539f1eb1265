// Counts of solicitations by status and by lead entity. No other resource has an endpoint that counts.

import { listAddress } from './address.js';
import { barChart } from './bar-chart.js';
import { element } from './dom.js';
import { formatNumber } from './format.js';
import { LeadEntityCounts } from './lead-entity-counts.js';
import { STATUSES } from './status.js';

/** @typedef {import('./view.js').View} View */

/**
 * @param {View} view
 * @returns {Promise<Node[]>}
 */
export async function showOverview(view) {
  const live = { status: 'open', closing_after: new Date(await view.now()).toISOString() };
  const asked = [{}, live, ...STATUSES.map((status) => ({ status }))];
  const [total = 0, liveCount = 0, ...counts] = await view.askEach(asked, (filters) => view.count(filters));
  const byStatus = STATUSES.map((status, index) => ({
    name: status,
    address: listAddress('solicitations', { status }),
    count: counts[index] ?? 0,
    tone: `bar-${status}`,
  }));
  const byLeadEntity = new LeadEntityCounts(view);
  void byLeadEntity.countMore();
  return [
    element('h2', { tabindex: '-1' }, 'Overview'),
    element(
      'p',
      {},
      `You see ${formatNumber(total)} ${total === 1 ? 'solicitation' : 'solicitations'}. `,
      element(
        'a',
        { href: listAddress('solicitations', live) },
        `${formatNumber(liveCount)} open with a deadline to come`,
      ),
      '. Nothing closes a solicitation on a schedule: its status stays open after the deadline.',
    ),
    barChart('Solicitations by status', 'Status', byStatus),
    byLeadEntity.node,
  ];
}
