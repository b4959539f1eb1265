// Links to records and to filtered lists.

import { listAddress, recordAddress } from '../address.js';
import { element } from '../dom.js';

/** Links to a record. @param {string} view @param {string} id @param {string} name */
export function recordLink(view, id, name) {
  return element('a', { href: recordAddress(view, id) }, name);
}

/** Links to a list, filtered by `parameter` to the id of `named`. @param {string} view @param {string} parameter @param {{ id: string, name: string }} named */
export function listLink(view, parameter, { id, name }) {
  return element('a', { href: listAddress(view, { [parameter]: id }) }, name);
}
