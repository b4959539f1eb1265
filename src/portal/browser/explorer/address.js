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
 * @returns {Place} the first view where nothing is asked for; a view without a name for what is no address of ours
 */
export function readAddress(hash) {
  if (!/^#\/./.test(hash)) return { view: FIRST_VIEW, id: null, parameters: new URLSearchParams() };
  const [, view = '', id, query] = /^#\/([a-z-]+)(?:\/([^/?]+))?(?:\?(.*))?$/.exec(hash) ?? [];
  try {
    return { view, id: id === undefined ? null : decodeURIComponent(id), parameters: new URLSearchParams(query) };
  } catch {
    return { view: '', id: null, parameters: new URLSearchParams() };
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
