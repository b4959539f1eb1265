// What is shown stands behind the # of the page's address, so that Back, Forward and a bookmark work:
// #/solicitations?status=open, #/solicitations/sol_1. Nothing else stands there; the key never does.

/**
 * @typedef {object} Place
 * @property {string} view the first part: a list, `overview`, `timeline`
 * @property {string | null} id of a record; null for a list
 * @property {URLSearchParams} parameters by the interface's names, `cursor` included
 */

export const FIRST_VIEW = 'overview';

/**
 * @param {string} hash as `location.hash` has it
 * @returns {Place | null} null for what is none of these addresses, such as the target of the link that skips to the
 *   content
 */
export function readAddress(hash) {
  if (hash === '' || hash === '#' || hash === '#/') {
    return { view: FIRST_VIEW, id: null, parameters: new URLSearchParams() };
  }
  const found = /^#\/([a-z-]+)(?:\/([^/?]+))?(?:\?(.*))?$/.exec(hash);
  if (found === null) return null;
  const [, view = '', id, query = ''] = found;
  try {
    return { view, id: id === undefined ? null : decodeURIComponent(id), parameters: new URLSearchParams(query) };
  } catch {
    return null;
  }
}

/**
 * The address of a list with its filters.
 *
 * @param {string} view
 * @param {URLSearchParams | Readonly<Record<string, string>>} parameters
 */
export function listAddress(view, parameters = {}) {
  const query = new URLSearchParams(parameters).toString();
  return `#/${view}${query === '' ? '' : `?${query}`}`;
}

/**
 * The address of a record.
 *
 * @param {string} view
 * @param {string} id
 */
export function recordAddress(view, id) {
  return `#/${view}/${encodeURIComponent(id)}`;
}
