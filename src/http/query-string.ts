import { closest, distance } from 'fastest-levenshtein';
import { validationFailed } from './errors.ts';
import { decodeText, queryOf } from './request-target.ts';

/** Maximum edit distance of a suggestion: a parameter name is still recognizable with two typos. */
const FARTHEST_SUGGESTION = 2;

/** Maximum length of client text quoted in a message. */
const MAX_QUOTE_LENGTH = 60;

/**
 * The decoded names and values of a URL's query, in order. A name without `=` has an empty value.
 *
 * @throws ApiError 400 if one is not percent-encoded UTF-8 or contains a NUL.
 */
export function readQuery(url: string): (readonly [name: string, value: string])[] {
  return queryOf(url)
    .split('&')
    .filter((pair) => pair !== '')
    .map(readPair);
}

function readPair(pair: string): readonly [name: string, value: string] {
  // In form encoding, a plus is a space.
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

/** Reports an unknown parameter, lists the accepted ones, and suggests the closest. */
export function unknownParameterMessage(name: string, known: readonly string[]): string {
  const accepted = known.length === 0 ? 'this takes none' : `this takes ${known.join(', ')}`;
  const nearest = nearestName(name.toLowerCase(), known);
  return `There is no parameter ${quote(name)}${nearest === null ? '' : `, did you mean "${nearest}"?`} (${accepted}).`;
}

function nearestName(name: string, known: readonly string[]): string | null {
  if (known.length === 0 || name.length > MAX_QUOTE_LENGTH) return null;
  // "lead" or "city" is a prefix rather than a typo, and its meaning is clear.
  const begun = name.length > 1 ? known.find((candidate) => candidate.startsWith(name)) : undefined;
  if (begun !== undefined) return begun;
  const nearest = closest(name, known);
  // With two typos, nothing is left of a short name.
  const farthest = Math.min(FARTHEST_SUGGESTION, Math.floor(nearest.length / 2));
  return distance(name, nearest) <= farthest ? nearest : null;
}

function quote(text: string): string {
  return JSON.stringify(text.length > MAX_QUOTE_LENGTH ? `${text.slice(0, MAX_QUOTE_LENGTH)}…` : text);
}
