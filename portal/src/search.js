// Takes the place of pagefind.js, whose functions the search form calls. If no page has a word that begins with the one that
// was typed, Pagefind finds a shorter one that it begins with: "web" for "websockets". Here, it is not found.

// @ts-expect-error The build gives Pagefind's own module this name. It finds its files only by a name that begins so.
import * as untyped from './pagefind.js-index.js';

/**
 * @typedef {{ excerpt: string, sub_results: { excerpt: string }[] }} Fragment
 * @typedef {{ results: { data: () => Promise<Fragment> }[], unfilteredResultCount: number }} Found
 * @type {{ search: (term: string | null, options?: object) => Promise<Found> }}
 */
const pagefind = untyped;

/** Whether each word has been found. @type {Map<string, Promise<boolean>>} */
const known = new Map();

/** @param {string} word */
async function isKnown(word) {
  // In quotes, only the word itself and its inflections are found.
  const exact = await pagefind.search(`"${word}"`);
  if (exact.results.length > 0) return true;
  const [first] = (await pagefind.search(word)).results;
  if (first === undefined) return false;
  const { excerpt, sub_results } = await first.data();
  const text = [excerpt, ...sub_results.map((section) => section.excerpt)].join(' ');
  return [...text.matchAll(/<mark>(.*?)<\/mark>/g)].some(([, marked = '']) => marked.toLowerCase().includes(word));
}

/**
 * @param {string | null} term
 * @param {object} [options]
 */
export async function search(term, options) {
  const found = await pagefind.search(term, options);
  const words = term?.toLowerCase().match(/[\p{L}\p{N}_]+/gu) ?? [];
  for (const word of words) if (!known.has(word)) known.set(word, isKnown(word));
  const areKnown = await Promise.all(words.map((word) => known.get(word)));
  return areKnown.every(Boolean) ? found : { ...found, results: [], unfilteredResultCount: 0 };
}

export const { createInstance, debouncedSearch, destroy, filters, init, mergeIndex, options, preload } = untyped;
