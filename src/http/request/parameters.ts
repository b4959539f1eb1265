import { closest, distance } from 'fastest-levenshtein';
import { parseTimestamp } from '../../timestamp.ts';
import { validationFailed, type ApiError } from '../response/errors.ts';
import { describedRef, type NamedSchema, type Schema } from '../openapi/openapi-schemas.ts';
import { decodeText, queryOf } from './request-head.ts';

/** A query parameter: one definition for both documentation and parsing. */
export interface Parameter<T> {
  /** For the OpenAPI document. Examples belong in its description: tools send the value of an `example` field. */
  readonly schema: Schema;
  /**
   * Parses the decoded text; undefined means that the parameter counts as not given.
   *
   * @throws InvalidParameter
   */
  readonly parse: (value: string) => T | undefined;
}

/**
 * A parameter that selects records. Its type requires conditions, so that none can be accepted, bound to the cursor,
 * and then ignored.
 */
export interface Filter<T, Query, Condition> extends Parameter<T> {
  /** The conditions that a value adds to a query; records must meet all of them. */
  conditions(value: T, query: Query): readonly Condition[] | Promise<readonly Condition[]>;
}

export type Filters<Query = unknown, Condition = unknown> = Readonly<Record<string, Filter<unknown, Query, Condition>>>;

/** A parameter that selects the page of a list, rather than its records. */
export interface PageParameter<T> extends Parameter<T> {
  readonly isOfPage: true;
}

export type Parameters = Readonly<Record<string, Filter<unknown, unknown, unknown> | PageParameter<unknown>>>;

/** The parsed values of the parameters that were given; the object has no prototype. */
export type ParameterValues = Readonly<Record<string, unknown>>;

/** A value is invalid for its parameter. The message continues the parameter's name: "must be …". */
export class InvalidParameter extends Error {
  override name = 'InvalidParameter';
}

/** Maximum edit distance of a suggestion: a parameter name is still recognizable with two typos. */
const FARTHEST_SUGGESTION = 2;

const MAX_QUOTE_LENGTH = 60;

/** In code points. */
const MAX_TEXT_LENGTH = 200;

/**
 * Parses a request's query. Nothing is ignored, guessed or coerced: a value has exactly one meaning or is rejected.
 *
 * @param url as the client sent it.
 * @throws ApiError 400 naming the first parameter that is unknown, repeated or malformed, and what is accepted.
 */
export function parseParameters(
  url: string,
  parameters: Readonly<Record<string, Parameter<unknown>>>,
): ParameterValues {
  const values = Object.create(null) as Record<string, unknown>;
  if (!url.includes('?')) return values;
  const seen = new Set<string>();
  for (const [name, text] of readQuery(url)) {
    const parameter = Object.hasOwn(parameters, name) ? parameters[name] : undefined;
    if (parameter === undefined) throw unknownParameter(name, Object.keys(parameters));
    if (seen.has(name)) throw validationFailed(`Parameter "${name}" was given more than once.`);
    seen.add(name);
    const value = parseValue(name, text, parameter);
    if (value !== undefined) values[name] = value;
  }
  return values;
}

function parseValue<T>(name: string, text: string, parameter: Parameter<T>): T | undefined {
  try {
    return parameter.parse(text);
  } catch (error) {
    if (!(error instanceof InvalidParameter)) throw error;
    // A blank value is usually an unset variable in the client's code, so the message says what to do.
    const message = isBlank(text)
      ? `Parameter "${name}" is blank. It ${error.message}. Omit it if you do not need it.`
      : `Parameter "${name}" ${error.message}.`;
    throw validationFailed(message);
  }
}

export function isBlank(text: string): boolean {
  return text.trim() === '';
}

/** The decoded names and values of a URL's query, in order. A name without `=` has an empty value. */
function readQuery(url: string): (readonly [name: string, value: string])[] {
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
    const describe = (quoted: string): string => (name === null ? 'A parameter name' : `Parameter ${quoted}`);
    throw validationFailed(
      `${describe(quote(name ?? ''))} is malformed. It must be percent-encoded UTF-8, without %00.`,
      `${describe(loggable(name ?? ''))} is malformed.`,
    );
  }
  return [name, value];
}

function unknownParameter(name: string, known: readonly string[]): ApiError {
  const accepted = known.length === 0 ? 'none' : known.join(', ');
  const nearest = nearestName(name.toLowerCase(), known);
  return validationFailed(
    `Unknown parameter ${quote(name)}.${nearest === null ? '' : ` Did you mean "${nearest}"?`} Accepted: ${accepted}.`,
    `Unknown parameter ${loggable(name)}.`,
  );
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

/** A name in quotes for the log, if it looks like one: `?KEY` is a parameter with the name KEY. */
function loggable(name: string): string {
  return /^[a-z_.[\]-]{1,24}$/i.test(name) ? `"${name}"` : '(a name that is not logged)';
}

/** The parameters as a schema for the OpenAPI document. */
export function querystringSchema(parameters: Parameters): Schema {
  const schemas = Object.entries(parameters).map(([name, { schema }]) => [name, schema] as const);
  return { type: 'object', properties: Object.fromEntries(schemas), additionalProperties: false };
}

/** Free text to search for, in Unicode's composed form; blank text counts as not given. */
export const freeText: Parameter<string> = {
  schema: {
    type: 'string',
    maxLength: MAX_TEXT_LENGTH,
    description:
      'Words to search for, such as `fire safety`. A record must contain all of them: each as the beginning of a word, or ' +
      'as another form of it in English. Case, accents and punctuation do not matter.',
  },
  parse(value) {
    const text = value.normalize('NFC');
    if (Array.from(text).length > MAX_TEXT_LENGTH)
      throw new InvalidParameter(`must have at most ${MAX_TEXT_LENGTH} characters`);
    return isBlank(text) ? undefined : text;
  },
};

/** A timestamp, normalized to the form that is stored and compared. */
export function timestampParameter(description: string): Parameter<string> {
  return {
    schema: { type: 'string', format: 'date-time', description },
    parse(value) {
      // An offset's plus that was not percent-encoded arrives as a space.
      const timestamp = parseTimestamp(value.replace(/ (?=\d{2}:\d{2}$)/, '+'));
      if (timestamp === null) {
        throw new InvalidParameter('must be a date and time with an offset (RFC 3339), such as 2026-04-15T09:00:00Z');
      }
      return timestamp;
    },
  };
}

/** ID of a record of the list with this path. Any non-blank text is accepted; an unknown ID matches nothing. */
export function idParameter(list: string, description: string): Parameter<string> {
  return {
    schema: { type: 'string', minLength: 1, description: `${description}: an \`id\` of \`${list}\`.` },
    parse(value) {
      if (isBlank(value)) throw new InvalidParameter(`must be an id from ${list}`);
      return value;
    },
  };
}

/** One of the values of a named enum, matched exactly. */
export function oneOfParameter<T extends string>(
  schema: NamedSchema & { readonly enum: readonly T[] },
  description: string,
): Parameter<T> {
  const values = schema.enum;
  return {
    schema: describedRef(schema, description),
    parse(value) {
      const found = values.find((accepted) => accepted === value);
      if (found === undefined) throw new InvalidParameter(`must be one of ${values.join(', ')}`);
      return found;
    },
  };
}

const STATE = /^[A-Za-z]{2}$/;

/** A two-letter state code, upper-cased. */
export const stateParameter: Parameter<string> = {
  schema: {
    type: 'string',
    minLength: 2,
    maxLength: 2,
    pattern: STATE.source,
    description: 'Only suppliers that serve this state or are based in it: a two-letter USPS code, such as `TX`.',
  },
  parse(value) {
    if (!STATE.test(value)) throw new InvalidParameter('must be a two-letter state code, such as TX');
    return value.toUpperCase();
  },
};

/** The raw list of certifications: some names contain commas, so splitting it requires the known names. */
export const certificationsParameter: Parameter<string> = {
  schema: {
    type: 'string',
    description:
      'Abbreviations or names of certifications (see `/v1/certifications`), comma-separated, such as ' +
      '`MBE,WBE`: suppliers that hold all of them.',
  },
  parse(value) {
    if (value.split(',').some((element) => element.trim() === '')) {
      throw new InvalidParameter('must be abbreviations or names of certifications, separated by commas');
    }
    return value;
  },
};
