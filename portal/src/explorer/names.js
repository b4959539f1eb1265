// Finds the record that a user means by its name, so that a filter is sent its ID.

import { AnswerError } from './errors.js';

/** @typedef {import('./view.js').Named} Named */
/** @typedef {import('./view.js').View} View */

/**
 * @typedef {object} Found
 * @property {Named | null} meant null if it is not clear which record is meant
 * @property {readonly Named[]} candidates to choose from; none if nothing matches
 */

const MAX_PAGE_SIZE = '100';

/**
 * Looks up what was typed. A text means the record with this ID, the only one with this name, or else the only one whose
 * name contains all of its words.
 *
 * @param {View} view
 * @param {string} kind `suppliers`, or a reference list
 * @param {string} text
 * @returns {Promise<Found>}
 * @throws {AnswerError} like `Session.ask`
 */
export async function findNamed(view, kind, text) {
  return kind === 'suppliers' ? findSupplier(view, text) : choose(text, await view.readNames(kind), true);
}

/** There can be very many suppliers, so the service searches them. @param {View} view @param {string} text @returns {Promise<Found>} */
async function findSupplier(view, text) {
  const query = new URLSearchParams({ q: text, limit: MAX_PAGE_SIZE }).toString();
  /** @type {{ data: Named[], meta: { next_cursor: string | null } }} */
  const { data, meta } = await view.askUnlisted(`/v1/suppliers?${query}`);
  const found = choose(text, data, meta.next_cursor === null);
  if (found.meant !== null || found.candidates.length > 0) return found;
  const named = await readNamed(view, 'suppliers', text);
  return { meant: named, candidates: data };
}

/**
 * The record with this ID.
 *
 * @param {View} view
 * @param {string} kind
 * @param {string} id
 * @returns {Promise<Named | null>} null if there is none
 */
export async function readNamed(view, kind, id) {
  if (kind !== 'suppliers') return (await view.readNames(kind)).find((named) => named.id === id) ?? null;
  try {
    return await view.askUnlisted(`/v1/suppliers/${encodeURIComponent(id)}`);
  } catch (error) {
    if (error instanceof AnswerError && error.status === 404) return null;
    throw error;
  }
}

/** @param {string} text @param {readonly Named[]} names @param {boolean} isAll whether no other name can match @returns {Found} */
function choose(text, names, isAll) {
  const withId = names.find(({ id }) => id === text);
  if (withId !== undefined) return { meant: withId, candidates: [] };
  const typed = text.toLowerCase();
  const exact = names.filter(({ name }) => name.toLowerCase() === typed);
  const words = typed.split(/\s+/);
  const similar = names.filter(({ name }) => words.every((word) => name.toLowerCase().includes(word)));
  const candidates = exact.length > 0 ? exact : similar;
  const [first = null] = candidates;
  return { meant: candidates.length === 1 && isAll ? first : null, candidates };
}
