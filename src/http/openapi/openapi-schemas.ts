// Building blocks for the schemas of the OpenAPI document. The importer or the parameter checks enforce these bounds
// and patterns. Patterns use no look-around, which many tools do not support.

/** A record ID, as the importer accepts it. */
const ID_PATTERN = '^[A-Za-z0-9_-]{1,64}$';

export const TIMESTAMP_PATTERN = '^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\\.[0-9]{3}Z$';

export const NIGP_PATTERN = '^([0-9]{3}|[0-9]{5}|[0-9]{7}|[0-9]{11})$';

export interface Schema {
  readonly type?: string | readonly string[];
  readonly [keyword: string]: unknown;
}

/** A schema that others refer to. Its `$id` is its name in the OpenAPI document. */
export interface NamedSchema extends Schema {
  readonly $id: string;
}

/** The schema of a record, with its fields. */
export interface RecordSchema extends NamedSchema {
  readonly properties: Readonly<Record<string, Schema>>;
}

interface Texts {
  readonly description: string;
  readonly examples?: readonly string[];
}

/** An object that always has all of its properties. */
export function objectSchema(
  properties: Readonly<Record<string, Schema>>,
  name: { readonly $id: string; readonly description: string },
) {
  return { type: 'object', required: Object.keys(properties), properties, ...name };
}

export function idSchema(texts: Texts) {
  return { type: 'string', minLength: 1, maxLength: 64, pattern: ID_PATTERN, ...texts };
}

export function filledTextSchema(texts: Texts) {
  return { type: 'string', minLength: 1, pattern: '\\S', ...texts };
}

/** A timestamp as it is served: UTC with milliseconds. */
export function timestampSchema(description: string, example = '2030-01-20T09:00:00.000Z') {
  return {
    type: 'string',
    format: 'date-time',
    maxLength: 24,
    pattern: TIMESTAMP_PATTERN,
    description,
    examples: [example],
  };
}

/** A whole number that JSON parsers represent exactly. */
export function int64Schema(options: { description: string; minimum?: number; examples?: readonly number[] }) {
  return {
    type: 'integer',
    format: 'int64',
    minimum: Number.MIN_SAFE_INTEGER,
    maximum: Number.MAX_SAFE_INTEGER,
    ...options,
  };
}

/** A number of things. */
export function numberOf(description: string, example: number) {
  return int64Schema({ minimum: 0, description, examples: [example] });
}

/** A field that is always present, and can be null. */
export function nullableSchema(schema: Schema & { readonly type: string }) {
  return { ...schema, type: [schema.type, 'null'] };
}

/** A reference to a named schema, as Fastify resolves it. */
export function refTo({ $id }: NamedSchema) {
  return { $ref: `${$id}#` };
}

/** A reference with a description and an example. OpenAPI 3.0 does not allow a description beside a bare reference. */
export function describedRef(schema: NamedSchema, description: string, example?: object) {
  return { allOf: [refTo(schema)], description, ...(example && { examples: [example] }) };
}

/** A reference that can be null. */
export function nullableRef(schema: NamedSchema, description: string, example: object) {
  return { oneOf: [refTo(schema), { type: 'null' }], description, examples: [example] };
}

/**
 * An enum that can gain values within /v1. The vendor extensions make generators accept unknown ones:
 * `x-extensible-enum` is Zalando's; AutoRest, Kiota and NSwag read `x-ms-enum`; Speakeasy reads the last one.
 */
export function openEnum<const T extends string>($id: string, values: readonly T[], description: string) {
  return {
    enum: values,
    $id,
    type: 'string',
    description: `${description} New values can be added: accept ones that you do not know.`,
    'x-extensible-enum': values,
    'x-ms-enum': { name: $id, modelAsString: true },
    'x-speakeasy-unknown-values': 'allow',
  };
}
