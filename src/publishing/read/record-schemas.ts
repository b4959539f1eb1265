import { STATES } from '../../us-states.ts';
import { parseTimestamp } from '../../timestamp.ts';
import type { Kind } from '../../kinds.ts';

/**
 * The import format as JSON Schema. A `description` is the reason reported for a value that breaks its schema: it
 * continues "field …".
 */
interface Schema {
  type: string | string[];
  description?: string;
  properties?: Readonly<Record<string, Schema>>;
  required?: readonly string[];
  items?: Schema;
  /** Whether the order of a list means nothing, so that it is stored sorted. */
  isSorted?: boolean;
  [keyword: string]: unknown;
}

const text: Schema = { type: 'string', description: 'must be a string' };
const filledText: Schema = { type: 'string', pattern: '\\S', description: 'must be a string that is not blank' };
const id: Schema = {
  type: 'string',
  pattern: '^[A-Za-z0-9_-]{1,64}$',
  description: 'must be 1 to 64 of the characters A-Z a-z 0-9 _ -',
};
const timestamp: Schema = {
  type: 'string',
  format: 'instant',
  description: 'must be an RFC 3339 date-time with an offset, such as 2026-04-15T09:00:00Z',
};
const integer: Schema = {
  type: 'integer',
  minimum: Number.MIN_SAFE_INTEGER,
  maximum: Number.MAX_SAFE_INTEGER,
  description: 'must be a whole number',
};
const boolean: Schema = { type: 'boolean', description: 'must be true or false' };

function nullable(schema: Schema): Schema {
  const or = schema.description === undefined ? {} : { description: `${schema.description}, or null` };
  return { ...schema, ...or, type: [schema.type, 'null'].flat() };
}

function oneOf(values: readonly string[]): Schema {
  return { type: 'string', enum: values, description: `must be one of ${values.join(', ')}` };
}

/** A list without repeated references. */
function set(items: Schema, example: string, { isSorted = false } = {}): Schema {
  return { type: 'array', items, uniqueItems: true, isSorted, description: `must be a list, e.g. ["${example}"]` };
}

function list(fields: Record<string, Schema>): Schema {
  return { type: 'array', items: object(fields), description: 'must be a list of objects' };
}

/** An object whose nullable fields, lists and `optional` fields can be omitted. */
function object(fields: Record<string, Schema>, optional: string[] = []): Schema {
  const mayBeLeftOut = (name: string, type: Schema['type']): boolean =>
    type === 'array' || type.includes('null') || optional.includes(name);
  return {
    type: 'object',
    description: 'must be an object',
    properties: fields,
    required: Object.keys(fields).filter((name) => !mayBeLeftOut(name, fields[name]?.type ?? '')),
    additionalProperties: false,
  };
}

const namedRecord = object({ id, name: filledText });

const state: Schema = {
  type: 'string',
  enum: [...STATES],
  description: 'must be a USPS two-letter state code in capitals',
};

const KIB = 1024;

/**
 * The longest line of each kind, in bytes of UTF-8. Each contract repeats its suppliers, and a page holds a hundred
 * records: without a limit, one supplier of 6 MB made a database of 607 MB and pages that no process could hold. The
 * longest lines of real data so far have 3 kB, or 65 kB for solicitations with all notices and questions.
 */
export const MAX_LINE_BYTES: Readonly<Record<Kind, number>> = {
  'lead-entities': 256 * KIB,
  coops: 256 * KIB,
  'city-services': 256 * KIB,
  certifications: 256 * KIB,
  suppliers: 256 * KIB,
  contracts: 256 * KIB,
  solicitations: 2 * 1024 * KIB,
};

/**
 * The schema of a line that adds or replaces a record. The order of the fields is that of the stored record, whose hash
 * depends on it.
 */
export const RECORD_SCHEMAS: Readonly<Record<Kind, Schema>> = {
  'lead-entities': namedRecord,
  coops: namedRecord,
  'city-services': namedRecord,
  certifications: object({
    // PostgreSQL cannot index much longer text.
    abbreviation: {
      type: 'string',
      maxLength: 200,
      pattern: '^[^,\\s]([^,]*[^,\\s])?$',
      description:
        'must be a string of at most 200 characters that is not blank, contains no comma, and has no space at its ends',
    },
    // The supplier filter takes comma-separated names: these would be ambiguous there.
    name: {
      type: 'string',
      pattern: '^(?![\\s,])(?![\\s\\S]*,\\s*(?:,|$))[\\s\\S]*\\S$',
      description:
        'must be a string that is not blank, has no space at its ends, and something before and after each comma',
    },
    type: oneOf(['sbe', 'technical']),
  }),
  suppliers: object(
    {
      id,
      name: filledText,
      short_intro: nullable(text),
      about: nullable(text),
      states_served: set(state, 'PA', { isSorted: true }),
      certifications: set(text, 'MBE', { isSorted: true }),
      city_service_ids: set(text, 'cs_1', { isSorted: true }),
      location: nullable(text),
      logo: nullable(text),
      email: nullable(text),
      website: nullable(text),
      updated_at: timestamp,
    },
    ['updated_at'],
  ),
  contracts: object(
    {
      id,
      name: filledText,
      summary: nullable(text),
      description: nullable(text),
      lead_entity_id: text,
      coop_id: nullable(text),
      supplier_ids: set(text, 'sup_1'),
      city_service_ids: set(text, 'cs_1'),
      updated_at: timestamp,
    },
    ['updated_at'],
  ),
  solicitations: object(
    {
      id: {
        type: 'string',
        pattern: '^(?!count$)(?![0-9]+$)[A-Za-z0-9_-]{1,64}$',
        description:
          'must be 1 to 64 of the characters A-Z a-z 0-9 _ -, at least one of them no digit, and not "count", which is a path of its own',
      },
      ref: { ...integer, minimum: 1, description: 'must be a positive whole number below 2^53' },
      reference_number: filledText,
      title: filledText,
      status: oneOf(['draft', 'open', 'closed', 'awarded', 'cancelled']),
      issuing_organization: nullable(text),
      lead_entity_id: text,
      open_at: nullable(timestamp),
      close_at: nullable(timestamp),
      questions_due_at: nullable(timestamp),
      intent_to_bid_due_at: nullable(timestamp),
      description: nullable(text),
      require_intent_registration: boolean,
      created_at: timestamp,
      updated_at: timestamp,
      nigp_codes: list({
        code: {
          type: 'string',
          pattern: '^([0-9]{3}|[0-9]{5}|[0-9]{7}|[0-9]{11})$',
          description: 'must be an NIGP code of 3, 5, 7 or 11 digits',
        },
        description: text,
      }),
      documents: list({
        id: integer,
        name: filledText,
        description: nullable(text),
        file_type: nullable(text),
        file_size: nullable({ ...integer, minimum: 0, description: 'must be a whole number of bytes' }),
      }),
      requested_items: list({
        id: integer,
        name: filledText,
        required: boolean,
        file_type: nullable(text),
        allows_multiple: boolean,
        instructions: nullable(text),
        template_document_id: nullable(integer),
      }),
      notices: list({ id: integer, title: filledText, body: text, created_at: timestamp }),
      questions: list({
        id: integer,
        title: filledText,
        body: text,
        answer: nullable(text),
        answered_at: nullable(timestamp),
        created_at: timestamp,
      }),
    },
    ['updated_at'],
  ),
};

/** The schema of a line that removes a record; `key` is its key field. */
export function removalSchema(key: 'id' | 'abbreviation'): object {
  return object({ [key]: filledText, deleted: { type: 'boolean', const: true, description: 'must be true' } });
}

/** A function that completes values of a schema: see {@link completerOf}. */
type Completer = (value: unknown) => unknown;

/**
 * Creates the function that completes a validated value: fills in what was left out, and normalizes timestamps. Fields
 * are in the schema's order, so that equal records serialize equally. Leaves out `updated_at`, which is not part of a
 * record.
 */
export function completerOf({ type, format, properties, items, isSorted }: Schema): Completer {
  if (format === 'instant') return (value) => (typeof value === 'string' ? parseTimestamp(value) : null);
  if (properties !== undefined) {
    const fields = Object.entries(properties)
      .filter(([name]) => name !== 'updated_at')
      .map(([name, field]) => [name, completerOf(field)] as const);
    return (value) => {
      const completed: Record<string, unknown> = {};
      for (const [name, complete] of fields) completed[name] = complete((value as Record<string, unknown>)[name]);
      return completed;
    };
  }
  if (type !== 'array' || items === undefined) return (value) => value ?? null;
  if (items.properties === undefined)
    return (value = []) => (isSorted === true ? (value as string[]).toSorted() : value);
  const complete = completerOf(items);
  return (value = []) => (value as unknown[]).map(complete);
}
