import { element } from '../dom.js';

/** Statuses of a solicitation, in lifecycle order. */
export const STATUSES = /** @type {const} */ (['open', 'closed', 'awarded', 'cancelled']);

/** @param {string} name */
export function status(name) {
  return element('span', { class: `status status-${name}` }, name);
}
