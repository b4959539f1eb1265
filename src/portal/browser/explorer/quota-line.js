import { element } from './dom.js';
import { formatNumber } from './format.js';

/** How many requests the partner has left, as the last answer told it. */
export class QuotaLine {
  node = element('p', { class: 'quota' });

  /** @param {import('./session.js').Quota} quota */
  show({ quota, remaining, resetSeconds }) {
    this.node.textContent =
      `${formatNumber(remaining)} of ${formatNumber(quota)} requests left; all again in ` +
      `${formatNumber(resetSeconds)} ${resetSeconds === 1 ? 'second' : 'seconds'}.`;
  }
}
