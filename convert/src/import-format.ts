/** The kinds of records, each a file of an import, in dependency order: a record only refers to records of earlier kinds. */
export const KINDS = [
  'lead-entities',
  'coops',
  'city-services',
  'certifications',
  'suppliers',
  'contracts',
  'solicitations',
] as const;

export type Kind = (typeof KINDS)[number];

/** The part of JSON Schema that describes records. A `format` of `timestamp` is one of RFC 3339. */
export interface Schema {
  readonly type: string | readonly string[];
  readonly format?: unknown;
  readonly enum?: unknown;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
}

export type RecordSchemas = Readonly<Record<Kind, Schema>>;

/** Finds what an import would refuse in a record. */
export type CheckRecord = (kind: Kind, record: object) => readonly { field: string; reason: string }[];
