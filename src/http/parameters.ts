import { Type, type TSchema } from 'typebox';
import { parseTimestamp } from '../timestamp.ts';
import { validationFailed } from './errors.ts';
import { describedRef } from './openapi-schemas.ts';
import { readQuery, unknownParameterMessage } from './query-string.ts';

/** A query parameter: one definition for both documentation and parsing. */
export interface Parameter<T> {
  /**
   * Schema for the OpenAPI document. Examples belong in its description: tools send the value of an `example` field.
   */
  readonly schema: TSchema;
  /**
   * Parses the decoded text; undefined means that the parameter counts as not given.
   *
   * @throws InvalidParameter
   */
  readonly parse: (value: string) => T;
}

/** A route's parameters by name. */
export type Parameters = Readonly<Record<string, Parameter<unknown>>>;

/** The parsed values of the parameters that were given; the object has no prototype. */
export type ParameterValues<P extends Parameters> = {
  readonly [K in keyof P]?: P[K] extends Parameter<infer T> ? T : never;
};

/** A value is invalid for its parameter. The message continues the parameter's name: "must be …". */
export class InvalidParameter extends Error {
  override name = 'InvalidParameter';
}

/** Page size if the client gives none. */
export const DEFAULT_LIMIT = 25;
export const MAX_LIMIT = 100;

/** Maximum length of free text, in code points. */
const MAX_TEXT_LENGTH = 200;

/**
 * Parses a request's query. Nothing is ignored, guessed or coerced: a value either has exactly one meaning or is
 * rejected.
 *
 * @param url as the client sent it.
 * @throws ApiError 400 naming the first parameter that is unknown, repeated or malformed, and what is accepted.
 */
export function parseParameters<P extends Parameters>(url: string, parameters: P): ParameterValues<P> {
  const values = Object.create(null) as Record<string, unknown>;
  if (!url.includes('?')) return values as ParameterValues<P>;
  const seen = new Set<string>();
  for (const [name, text] of readQuery(url)) {
    const parameter = Object.hasOwn(parameters, name) ? parameters[name] : undefined;
    if (parameter === undefined) throw validationFailed(unknownParameterMessage(name, Object.keys(parameters)));
    if (seen.has(name)) throw validationFailed(`The parameter "${name}" stands there more than once: give it once.`);
    seen.add(name);
    const value = parseValue(name, text, parameter);
    if (value !== undefined) values[name] = value;
  }
  return values as ParameterValues<P>;
}

function parseValue<T>(name: string, text: string, parameter: Parameter<T>): T {
  try {
    return parameter.parse(text);
  } catch (error) {
    if (!(error instanceof InvalidParameter)) throw error;
    // A blank value is usually an unset variable in the caller's code, so the message explains more than what is
    // accepted.
    const message = isBlank(text)
      ? `The parameter "${name}" is blank: it ${error.message}. Leave it out if you do not need it.`
      : `The parameter "${name}" ${error.message}.`;
    throw validationFailed(message);
  }
}

function isBlank(text: string): boolean {
  return text.trim() === '';
}

/** The parameters as a schema for the OpenAPI document. */
export function querystringSchema(parameters: Parameters): TSchema {
  const schemas = Object.entries(parameters).map(([name, { schema }]) => [name, Type.Optional(schema)]);
  return Type.Object(Object.fromEntries(schemas) as Record<string, TSchema>, { additionalProperties: false });
}

/** Page size. Digits only: `Number()` would accept `0x10`, `1e1`, ` 10` and more. */
export const limitParameter: Parameter<number> = {
  schema: Type.Integer({
    format: 'int32',
    minimum: 1,
    maximum: MAX_LIMIT,
    default: DEFAULT_LIMIT,
    description: 'The most records that a page holds. It may change between the pages of a walk.',
  }),
  parse(value) {
    const limit = /^[1-9]\d{0,2}$/.test(value) ? Number(value) : Number.NaN;
    if (!(limit <= MAX_LIMIT)) {
      throw new InvalidParameter(`must be a whole number from 1 to ${MAX_LIMIT}, in plain digits`);
    }
    return limit;
  },
};

/** Where the page begins. `paging/` checks whether the cursor belongs to this list. */
export const cursorParameter: Parameter<string> = {
  schema: Type.String({
    minLength: 1,
    description: 'The `meta.next_cursor` of the page before, as it is, together with the same filters. Opaque.',
  }),
  parse(value) {
    if (isBlank(value)) throw new InvalidParameter('must be the "meta.next_cursor" of the page before, as it is');
    return value;
  },
};

/** Free text to search for, in Unicode's composed form; blank text counts as not given. */
export const freeText: Parameter<string | undefined> = {
  schema: Type.String({
    maxLength: MAX_TEXT_LENGTH,
    description:
      'Words to search for, such as `fire safety`; a record matches when all of them do. A word matches where one of the words of the ' +
      'record begins with it, or has the same English stem. Case, accents and punctuation do not matter.',
  }),
  parse(value) {
    const text = value.normalize('NFC');
    if (Array.from(text).length > MAX_TEXT_LENGTH)
      throw new InvalidParameter(`must have no more than ${MAX_TEXT_LENGTH} characters`);
    return isBlank(text) ? undefined : text;
  },
};

/** A timestamp, normalized to the form that is stored and compared. */
export function timestampParameter(description: string): Parameter<string> {
  return {
    schema: Type.String({ format: 'date-time', description }),
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

/**
 * ID of a related record. Any non-blank text is accepted; an unknown ID matches nothing.
 *
 * @param list the path whose records have these IDs, such as `/v1/coops`.
 */
export function idParameter(list: string, description: string): Parameter<string> {
  return {
    schema: Type.String({ minLength: 1, description: `${description}: an \`id\` of \`${list}\`.` }),
    parse(value) {
      if (isBlank(value)) throw new InvalidParameter(`must be an id from ${list}`);
      return value;
    },
  };
}

/** One of the values of a named enum, matched exactly. */
export function oneOfParameter<T extends string>(
  schema: TSchema & { readonly enum: readonly T[] },
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
  schema: Type.String({
    minLength: 2,
    maxLength: 2,
    pattern: STATE.source,
    description: 'The two letters of a state (USPS), such as `TX`: suppliers that serve it, or are based in it.',
  }),
  parse(value) {
    if (!STATE.test(value)) throw new InvalidParameter('must be the two letters of a state, such as TX');
    return value.toUpperCase();
  },
};

/** The raw list of certifications: some names contain commas, so splitting it requires the known names. */
export const certificationsParameter: Parameter<string> = {
  schema: Type.String({
    description:
      'Abbreviations or names of certifications (see `/v1/certifications`), comma-separated, such as ' +
      '`MBE,WBE`: suppliers that hold all of them.',
  }),
  parse(value) {
    if (value.split(',').some((element) => element.trim() === '')) {
      throw new InvalidParameter('must be abbreviations or names of certifications, with a comma between two');
    }
    return value;
  },
};
