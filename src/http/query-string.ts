import { closest, distance } from 'fastest-levenshtein';
import { validationFailed } from './errors.ts';
import { decodeText, queryOf } from './request-target.ts';

/** Two typing errors still leave a name of this interface recognisable. */
const FARTHEST_SUGGESTION = 2;

/** Of a client's own text, how much a message repeats. */
const LONGEST_QUOTE = 60;

/**
 * The names and values in the query of an address, decoded, in their order. A name without
 * `=` has an empty value.
 *
 * @throws ApiError 400 where one of them is no percent-encoded UTF-8, or holds a NUL.
 */
export function readQuery(url: string): (readonly [name: string, value: string])[] {
  return queryOf(url)
    .split('&')
    .filter((pair) => pair !== '')
    .map(readPair);
}

function readPair(pair: string): readonly [name: string, value: string] {
  // In a query, as forms write it, a plus is a space.
  const spaced = pair.replaceAll('+', ' ');
  const end = spaced.indexOf('=');
  const name = decodeText(end === -1 ? spaced : spaced.slice(0, end));
  const value = end === -1 ? '' : decodeText(spaced.slice(end + 1));
  if (name === null || value === null) {
    const where = name === null ? 'The name of a parameter' : `The parameter ${quote(name)}`;
    throw validationFailed(`${where} cannot be read: write it as percent-encoded UTF-8, without %00.`);
  }
  return [name, value];
}

/** Says that there is no such parameter, which there are, and which one may have been meant. */
export function unknownParameterMessage(name: string, known: readonly string[]): string {
  const accepted = known.length === 0 ? 'this takes none' : `this takes ${known.join(', ')}`;
  const nearest = nearestName(name.toLowerCase(), known);
  return `There is no parameter ${quote(name)}${nearest === null ? '' : `, did you mean "${nearest}"?`} (${accepted}).`;
}

function nearestName(name: string, known: readonly string[]): string | null {
  if (known.length === 0 || name.length > LONGEST_QUOTE) return null;
  // "lead" or "city" is no typing error, but it is clear what was meant.
  const begun = name.length > 1 ? known.find((candidate) => candidate.startsWith(name)) : undefined;
  if (begun !== undefined) return begun;
  const nearest = closest(name, known);
  // Two errors in a short name leave nothing of it.
  const farthest = Math.min(FARTHEST_SUGGESTION, Math.floor(nearest.length / 2));
  return distance(name, nearest) <= farthest ? nearest : null;
}

function quote(text: string): string {
  return JSON.stringify(text.length > LONGEST_QUOTE ? `${text.slice(0, LONGEST_QUOTE)}…` : text);
}
