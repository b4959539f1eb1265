// The current view is in the fragment of the page's URL, so that Back, Forward and bookmarks work:
// #/solicitations?status=open, #/solicitations/sol_1. The fragment holds nothing else, and never the key.

/**
 * @typedef {object} Place
 * @property {string | null} view the first part: a list, `overview`, `timeline`; null for the first view
 * @property {string | null} id of a record; null for any other view
 * @property {URLSearchParams} parameters by the API's names, `cursor` included
 */

/**
 * @param {string} hash from `location.hash`
 * @returns {Place} `view` is null if the hash has no path, and empty if the path is malformed
 */
export function readAddress(hash) {
  if (!/^#\/./.test(hash)) return { view: null, id: null, parameters: new URLSearchParams() };
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
