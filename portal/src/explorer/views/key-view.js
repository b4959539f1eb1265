// The key itself: its end, what it sees, its limit and its requests.

import { barChart } from '../parts/bar-chart.js';
import { description, element } from '../dom.js';
import { formatNumber, formatShortDay, time } from '../format.js';

/** @typedef {import('../view.js').View} View */
/** @typedef {import('../../../../client/src/generated/types.gen.ts').Key} Key */

const CHART_PIXELS = 90;

/**
 * @param {View} view
 * @returns {Promise<Node[]>}
 */
export async function showKey(view) {
  /** @type {Key} */
  const key = await view.ask('/v1/key');
  const requests = key.usage.reduce((sum, day) => sum + day.requests, 0);
  const summary = `${formatNumber(requests)} ${requests === 1 ? 'request' : 'requests'} with this key in ${key.usage.length} days`;
  const days = key.usage.map(({ day, requests: count }) => {
    const name = formatShortDay(Date.parse(day));
    return { name, label: name, count };
  });
  return [
    element('h2', { tabindex: '-1' }, 'Your key'),
    description([
      ['Public ID', element('code', {}, key.id)],
      ['Partner', key.partner],
      ['Environment', key.environment],
      ['Issued', time(key.created_at)],
      ['Ends', time(key.expires_at) ?? 'never'],
      ['Replaced by', key.replaced_by && element('code', {}, key.replaced_by)],
      ['Sees', sees(key)],
      ['Kinds', key.kinds.join(', ')],
      ['Requests per minute', `${formatNumber(key.requests_per_minute)}, over all keys of the partner`],
      ['Newest data', time(key.data_published_at)],
      ['Last checked', time(key.data_checked_at)],
    ]),
    element('h3', {}, 'Requests'),
    element('p', { class: 'muted' }, `${summary}, by day in UTC.`),
    requests > 0 && barChart(summary, 'Day (UTC)', days, view, CHART_PIXELS),
  ].filter((part) => part !== false);
}

/** @param {Key} key */
function sees({ sees_everything: isAll, granted_lead_entities: entities, granted_coops: coops }) {
  if (isAll) return 'everything';
  return `${formatNumber(entities)} lead entities and ${formatNumber(coops)} cooperatives, granted individually`;
}
