import { element } from './dom.js';

/** The statuses that a solicitation can have, in the order of its life. */
export const STATUSES = /** @type {const} */ (['open', 'closed', 'awarded', 'cancelled']);

/** @param {string} name */
export function status(name) {
  return element('span', { class: `status status-${name}` }, name);
}
