import { closest, distance } from 'fastest-levenshtein';
import { MAX_QUOTE_LENGTH, quoted } from '../../printable.ts';
import { parseTimestamp } from '../../timestamp.ts';
import { validationFailed, type ApiError } from '../response/errors.ts';
import { describedRef, NIGP_PATTERN, type NamedSchema, type Schema } from '../openapi/openapi-schemas.ts';
import { decodeText, queryOf } from './request-head.ts';

/** A query parameter: one definition for both documentation and parsing. */
export interface Parameter<T> {
  /** For the OpenAPI document. Examples belong in its description: tools send the value of an `example` field. */
  readonly schema: Schema;
  /** Parses the decoded text; undefined if it counts as not given. Throws InvalidParameter. */
  readonly parse: (value: string) => T | undefined;
}

/** A parameter that selects records. Its type requires conditions, so that none can be accepted and then ignored. */
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

/** The message continues the parameter's name: "must be …". Only its first sentence is logged, so client text comes after it. */
export class InvalidParameter extends Error {}

/** Maximum edit distance of a suggestion: a parameter name is still recognizable with two typos. */
const FARTHEST_SUGGESTION = 2;

/** In code points. */
const MAX_TEXT_LENGTH = 200;

/**
 * Parses a request's query. It ignores, guesses and coerces nothing: a value has exactly one meaning or is rejected.
 *
 * @param url as the client sent it.
 * @throws ApiError 400 naming the first parameter that is unknown, repeated or malformed, and what is accepted.
 */
export function parseParameters(
  url: string,
  parameters: Readonly<Record<string, Parameter<unknown>>>,
): ParameterValues {
  const values = Object.create(null) as Record<string, unknown>;
  const seen = new Set<string>();
  for (const pair of queryOf(url).split('&')) {
    if (pair === '') continue;
    const [name, text] = readPair(pair);
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

/** A name without `=` has an empty value. */
function readPair(pair: string): readonly [name: string, value: string] {
  // In form encoding, a plus is a space.
  const spaced = pair.replaceAll('+', ' ');
  const end = spaced.indexOf('=');
  const name = decodeText(end === -1 ? spaced : spaced.slice(0, end));
  const value = end === -1 ? '' : decodeText(spaced.slice(end + 1));
  if (name === null || value === null) {
    const describe = (known: string): string => (name === null ? 'A parameter name' : `Parameter ${known}`);
    throw validationFailed(
      `${describe(quoted(name ?? ''))} is malformed. It must be percent-encoded UTF-8, without %00.`,
      `${describe(loggable(name ?? ''))} is malformed.`,
    );
  }
  return [name, value];
}

function unknownParameter(name: string, known: readonly string[]): ApiError {
  const accepted = known.length === 0 ? 'none' : known.join(', ');
  const nearest = nearestName(name.toLowerCase(), known);
  return validationFailed(
    `Unknown parameter ${quoted(name)}.${nearest === null ? '' : ` Did you mean "${nearest}"?`} Accepted: ${accepted}.`,
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

/** Limits the work of a request. */
const MAX_VALUES = 20;

const SEVERAL = `Since 1.3.0, also up to ${MAX_VALUES} of them, separated by commas: any of them matches.`;

/**
 * One value, or several separated by commas, of which any matches. Parsed, they are distinct, sorted and joined again: a
 * cursor is valid for the same values in any order, and a single value is parsed as before there were several.
 *
 * @param form of a value, for messages: "an id from …".
 * @param pattern of a value. Null accepts any text that is not blank.
 */
function severalOf(
  form: string,
  pattern: string | null,
  description: string,
  normalize = (value: string): string => value,
): Parameter<string> {
  const accepted = `must be ${form}, or up to ${MAX_VALUES} of them, separated by commas`;
  const one = pattern === null ? /\S/ : new RegExp(`^(${pattern})$`);
  const schema =
    pattern === null ? { minLength: 1 } : { pattern: `^(${pattern})(,(${pattern})){0,${MAX_VALUES - 1}}$` };
  return {
    schema: { type: 'string', ...schema, description },
    parse(text) {
      if (isBlank(text)) throw new InvalidParameter(accepted);
      const values = text.split(',');
      if (values.length > MAX_VALUES) throw new InvalidParameter(`${accepted}. There are ${values.length}`);
      // An id with a space beside its comma would match nothing, and the other values would hide that.
      const isWrong = (value: string): boolean => !one.test(value) || (values.length > 1 && value !== value.trim());
      const wrong = values.find(isWrong);
      if (wrong !== undefined) throw new InvalidParameter(`${accepted}. ${quoted(wrong)} is not accepted`);
      return [...new Set(values.map(normalize))].sort().join(',');
    },
  };
}

/** IDs of records of the list with this path. No ID has a comma; an unknown ID matches nothing. */
export function idsParameter(list: string, description: string): Parameter<string> {
  return severalOf(`an id from ${list}`, null, `${description}: an \`id\` of \`${list}\`. ${SEVERAL}`);
}

/** Values of a named enum, matched exactly. */
export function anyOfParameter({ enum: values }: { readonly enum: readonly string[] }, description: string) {
  return severalOf(`one of ${values.join(', ')}`, values.join('|'), `${description} ${SEVERAL}`);
}

/** `true` or `false`. */
export function booleanParameter(description: string): Parameter<string> {
  return {
    schema: { type: 'boolean', description },
    parse(value) {
      if (value !== 'true' && value !== 'false') throw new InvalidParameter('must be true or false');
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

/** Two-letter state codes, upper-cased. */
export const statesParameter = severalOf(
  'a two-letter state code, such as TX',
  '[A-Za-z]{2}',
  `Only suppliers that serve this state or are based in it: a two-letter USPS code, such as \`TX\`. ${SEVERAL}`,
  (state) => state.toUpperCase(),
);

/** NIGP codes, each of which also matches those that begin with it. */
export const nigpParameter = severalOf(
  'an NIGP code of 3, 5, 7 or 11 digits, such as 072',
  NIGP_PATTERN.slice(2, -2),
  'Only solicitations with this NIGP code or one below it, of 3, 5, 7 or 11 digits: `072` also matches `07200` and `0720045`. ' +
    `Or up to ${MAX_VALUES} codes, separated by commas: any of them matches. Since 1.3.0.`,
);

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
