/**
 * A field of the import format as JSON Schema, from which the types of records follow. Its `description` is the reason
 * reported for a value that breaks the schema: it continues "field …".
 */
export interface Field<T = unknown> {
  /** Never present: the type of a completed value. */
  readonly completed?: T;
  type: string | string[];
  description?: string;
  properties?: Readonly<Record<string, Field>>;
  required?: readonly string[];
  items?: Field;
  /** Whether the order of a list means nothing, so that it is stored sorted. */
  isSorted?: boolean;
  [keyword: string]: unknown;
}

type Fields = Readonly<Record<string, Field>>;

/** A completed object with these fields. `updated_at` is not part of a record. */
type ValueOf<F extends Fields> = { [K in keyof F as Exclude<K, 'updated_at'>]: CompletedOf<F[K]> };

/** The type of a field's completed values; never if the field does not declare it, so that its use does not compile. */
export type CompletedOf<F extends Field> = F extends Field<infer T> ? (unknown extends T ? never : T) : never;

export const text: Field<string> = { type: 'string', description: 'must be a string' };
export const filledText: Field<string> = {
  type: 'string',
  pattern: '\\S',
  description: 'must be a string that is not blank',
};
export const id: Field<string> = {
  type: 'string',
  pattern: '^[A-Za-z0-9_-]{1,64}$',
  description: 'must be 1 to 64 of the characters A-Z a-z 0-9 _ -',
};
export const timestamp: Field<string> = {
  type: 'string',
  format: 'instant',
  description: 'must be an RFC 3339 date-time with an offset, such as 2026-04-15T09:00:00Z',
};
export const integer: Field<number> = {
  type: 'integer',
  minimum: Number.MIN_SAFE_INTEGER,
  maximum: Number.MAX_SAFE_INTEGER,
  description: 'must be a whole number',
};
export const boolean: Field<boolean> = { type: 'boolean', description: 'must be true or false' };

/** A field that can be null or left out. */
export function nullable<T>({ completed: _, ...field }: Field<T>): Field<T | null> {
  const or = field.description === undefined ? {} : { description: `${field.description}, or null` };
  return { ...field, ...or, type: [field.type, 'null'].flat() };
}

/** One of these texts. */
export function oneOf<const T extends string>(values: readonly T[]): Field<T> {
  return { type: 'string', enum: values, description: `must be one of ${values.join(', ')}` };
}

/** A list without repeated references. */
export function set(items: Field<string>, example: string, { isSorted = false } = {}): Field<string[]> {
  return { type: 'array', items, uniqueItems: true, isSorted, description: `must be a list, e.g. ["${example}"]` };
}

/** A list of objects. */
export function list<F extends Fields>(fields: F): Field<ValueOf<F>[]> {
  return { type: 'array', items: object(fields), description: 'must be a list of objects' };
}

/** An object whose nullable fields, lists and `optional` fields can be omitted. */
export function object<F extends Fields>(fields: F, optional: string[] = []): Field<ValueOf<F>> {
  const mayBeLeftOut = (name: string, type: Field['type']): boolean =>
    type === 'array' || type.includes('null') || optional.includes(name);
  return {
    type: 'object',
    description: 'must be an object',
    properties: fields,
    required: Object.keys(fields).filter((name) => !mayBeLeftOut(name, fields[name]?.type ?? '')),
    additionalProperties: false,
  };
}

/** A line of a reference list's file. */
export const namedFields = object({ id, name: filledText });

/** Validated and completed. */
export type NamedRecord = CompletedOf<typeof namedFields>;
