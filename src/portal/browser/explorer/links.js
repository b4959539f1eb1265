// Links from what is named to its place.

import { listAddress, recordAddress } from './address.js';
import { element } from './dom.js';

/** To a record. @param {string} view @param {string} id @param {string} name */
export function recordLink(view, id, name) {
  return element('a', { href: recordAddress(view, id) }, name);
}

/** To the records of a list that belong to something. @param {string} view @param {string} parameter @param {{ id: string, name: string }} named */
export function listLink(view, parameter, { id, name }) {
  return element('a', { href: listAddress(view, { [parameter]: id }) }, name);
}
