import {
  filledTextSchema,
  idSchema,
  int64Schema,
  nullableSchema,
  objectSchema,
  refTo,
  timestampSchema,
  type Schema,
} from '../http/openapi/openapi-schemas.ts';
import type { Kind } from '../kinds.ts';

/**
 * A value of the import format as JSON Schema. Its `description` is the reason reported for a value that breaks the
 * schema: it continues "field …".
 */
export interface ImportSchema {
  type: string | string[];
  description?: string;
  properties?: Readonly<Record<string, ImportSchema>>;
  required?: readonly string[];
  items?: ImportSchema;
  /** Whether the order of a list means nothing, so that it is stored sorted. */
  isSorted?: boolean;
  [keyword: string]: unknown;
}

/**
 * A field of a record, in the import format and as it is served. Checks, types, documentation and columns of CSV follow
 * from it; in `rendered-fields.ts`, rendering and reading back.
 */
export interface Field<T = unknown, Name extends string = string> {
  /** Never present: the type of a completed value; never if the field is not part of an imported record. */
  readonly completed?: T;
  /** Null for a field that is only served. */
  readonly imported: ImportSchema | null;
  /** Null for a field that is only imported. */
  readonly served: Schema | null;
  /** Its name in the import format; missing if it is the same, which is `''` as a type. */
  readonly importedAs?: Name;
  /** The kind of the records that it embeds. The import format has their keys instead. */
  readonly embeds?: Kind;
  /** Whether lists omit it. */
  readonly isOfDetail?: boolean;
  /** Whether it is added, after all others, when a record is read, and so is not in the rendered text. */
  readonly isAdded?: boolean;
}

/** The fields of a record by their served names, in the order of both formats. */
export type Fields = Readonly<Record<string, Field>>;

/** A validated record with these fields, in the import format: all are present, without `updated_at`. */
export type RecordOf<F extends Fields> = { [K in keyof F as RecordKey<K, F[K]>]: CompletedOf<F[K]> };

type CompletedOf<F extends Field> = F extends Field<infer T> ? T : never;

type RecordKey<K extends PropertyKey, F> =
  F extends Field<infer T, infer Name> ? ([T] extends [never] ? never : Name extends '' ? K : Name) : never;

/** A field of the same name in both formats. */
export function field<T>(imported: ImportSchema, served: Schema): Field<T, ''> {
  return { imported, served };
}

export const TEXT: ImportSchema = { type: 'string', description: 'must be a string' };
export const FILLED_TEXT: ImportSchema = {
  type: 'string',
  pattern: '\\S',
  description: 'must be a string that is not blank',
};
const ID: ImportSchema = {
  type: 'string',
  pattern: '^[A-Za-z0-9_-]{1,64}$',
  description: 'must be 1 to 64 of the characters A-Z a-z 0-9 _ -',
};
const ID_BESIDE_COUNT: ImportSchema = {
  type: 'string',
  pattern: '^(?!count$)[A-Za-z0-9_-]{1,64}$',
  description: 'must be 1 to 64 of the characters A-Z a-z 0-9 _ -, and not "count", which is a path of its own',
};
const TIMESTAMP: ImportSchema = {
  type: 'string',
  format: 'timestamp',
  description: 'must be an RFC 3339 date-time with an offset, such as 2026-04-15T09:00:00Z',
};
const INTEGER: ImportSchema = {
  type: 'integer',
  minimum: Number.MIN_SAFE_INTEGER,
  maximum: Number.MAX_SAFE_INTEGER,
  description: 'must be a whole number',
};
const BOOLEAN: ImportSchema = { type: 'boolean', description: 'must be true or false' };

const textsOf = (description: string, example?: string) => {
  return { description, ...(example !== undefined && { examples: [example] }) };
};

export function text(description: string, example?: string): Field<string, ''> {
  return field(TEXT, { type: 'string', ...textsOf(description, example) });
}

export function filledText(description: string, example?: string): Field<string, ''> {
  return field(FILLED_TEXT, filledTextSchema(textsOf(description, example)));
}

export function id(description: string, example?: string): Field<string, ''> {
  return field(ID, idSchema(textsOf(description, example)));
}

/** The id of a kind that has a count. */
export function idBesideCount(description: string, example: string): Field<string, ''> {
  return field(ID_BESIDE_COUNT, idSchema(textsOf(description, example)));
}

export function boolean(description: string): Field<boolean, ''> {
  return field(BOOLEAN, { type: 'boolean', description });
}

export function timestamp(description: string, example?: string): Field<string, ''> {
  return field(TIMESTAMP, timestampSchema(description, example));
}

/** @param options.reason reported for a value that is no such number. */
export function integer(
  description: string,
  options: { readonly minimum?: number; readonly example?: number; readonly reason?: string } = {},
): Field<number, ''> {
  const { minimum, example, reason } = options;
  const bound = minimum === undefined ? {} : { minimum };
  return field(
    { ...INTEGER, ...bound, ...(reason !== undefined && { description: reason }) },
    int64Schema({ ...bound, description, ...(example !== undefined && { examples: [example] }) }),
  );
}

/** One of these texts. */
export function oneOf<const T extends string>(values: readonly T[], served: Schema): Field<T, ''> {
  return field({ type: 'string', enum: values, description: `must be one of ${values.join(', ')}` }, served);
}

/** A field that can be null, or left out of an import. */
export function nullable<T>({ imported, served }: Field<T, ''>): Field<T | null, ''> {
  return {
    imported: imported && orNull(imported),
    served: served && nullableSchema(served as Schema & { type: string }),
  };
}

/** A value that can be null or left out. */
export function orNull(schema: ImportSchema): ImportSchema {
  const or = schema.description === undefined ? {} : { description: `${schema.description}, or null` };
  return { ...schema, ...or, type: [schema.type, 'null'].flat() };
}

/** A list without repeated values. */
export function setOf(items: ImportSchema, example: string, { isSorted = false } = {}): ImportSchema {
  return { type: 'array', items, uniqueItems: true, isSorted, description: `must be a list, e.g. ["${example}"]` };
}

/** An embedded record. The import format has its id, under another name. */
export function reference<Name extends string, T extends string | null = string>(
  importedAs: Name,
  embeds: Kind,
  served: Schema,
  imported = TEXT,
): Field<T, Name> {
  return { imported, served, importedAs, embeds };
}

/** Embedded records. The import format has their ids, under another name. */
export function references<Name extends string>(
  importedAs: Name,
  embeds: Kind,
  example: string,
  served: Schema,
): Field<string[], Name> {
  return { imported: setOf(TEXT, example), served: { type: 'array', ...served }, importedAs, embeds };
}

/** The objects of a list, with their name in the OpenAPI document. */
export function items<F extends Fields>($id: string, description: string, fields: F) {
  return { fields, schema: objectSchema(servedProperties(fields), { $id, description }) };
}

/** A list of objects. */
export function list<F extends Fields>(
  { fields, schema }: ReturnType<typeof items<F>>,
  description: string,
): Field<RecordOf<F>[], ''> {
  return field(
    { type: 'array', items: importSchema(fields), description: 'must be a list of objects' },
    { type: 'array', items: refTo(schema), description },
  );
}

/** A field that lists omit. */
export function ofDetail<F extends Field>(inner: F): F {
  return { ...inner, isOfDetail: true };
}

/** A field that is imported but not served. */
export function unserved<T>(imported: ImportSchema): Field<T, ''> {
  return { imported, served: null };
}

/** A field that is added when a record is read. */
export function added<T>(imported: ImportSchema | null, served: Schema): Field<T, ''> {
  return { imported, served, isAdded: true };
}

/** The timestamp of a record's last update. An import can have it, for records of an empty database. */
export function updatedAt(description: string): Field<never, ''> {
  return added(TIMESTAMP, timestampSchema(description));
}

/** The properties of the schema of a detail, of a record in lists, or of one in others, which has no added fields. */
export function servedProperties(fields: Fields, form: 'detail' | 'list' | 'embedded' = 'detail') {
  const isServed = ({ isOfDetail = false, isAdded = false }: Field): boolean =>
    form === 'detail' || (form === 'list' ? !isOfDetail : !isAdded);
  const served = Object.entries(fields).filter(([, each]) => isServed(each));
  const inOrder = [...served.filter(([, each]) => each.isAdded !== true), ...served.filter(([, each]) => each.isAdded)];
  return Object.fromEntries(inOrder.flatMap(([name, { served: schema }]) => (schema === null ? [] : [[name, schema]])));
}

/** The schema of an object of the import format with these fields. */
export function importSchema(fields: Fields): ImportSchema {
  const imported = Object.entries(fields).flatMap(
    ([served, { imported: schema, importedAs: name = served, isAdded = false }]) =>
      schema === null ? [] : [{ name, schema, isAdded }],
  );
  return importObject(
    Object.fromEntries(imported.map(({ name, schema }) => [name, schema])),
    imported.flatMap(({ name, isAdded }) => (isAdded ? [name] : [])),
  );
}

/** An object whose nullable fields, lists and `optional` fields can be omitted. */
export function importObject(
  properties: Readonly<Record<string, ImportSchema>>,
  optional: readonly string[] = [],
): ImportSchema {
  const mayBeLeftOut = (name: string, type: ImportSchema['type']): boolean =>
    type === 'array' || type.includes('null') || optional.includes(name);
  return {
    type: 'object',
    description: 'must be an object',
    properties,
    required: Object.keys(properties).filter((name) => !mayBeLeftOut(name, properties[name]?.type ?? '')),
    additionalProperties: false,
  };
}
