import { element } from '../dom.js';
import { formatNumber, formatTimeOfDay } from '../format.js';

/** Shows the partner's remaining requests, from the latest response, until the rate limit window ends. */
export class QuotaLine {
  node = element('p', { class: 'quota' });
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer;

  /** @param {import('../session.js').Quota} quota */
  show({ quota, remaining, resetSeconds }) {
    const resetMs = resetSeconds * 1000;
    const until = formatTimeOfDay(Date.now() + resetMs);
    this.node.textContent = `${formatNumber(remaining)} of ${formatNumber(quota)} requests left until ${until}.`;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.node.textContent = `${formatNumber(quota)} requests left.`;
    }, resetMs);
  }
}
