import { KINDS, type Kind, type RecordSchemas, type Schema } from '../import-format.ts';

/** The type of a field that a column can be mapped to. */
export interface FieldType {
  type: 'text' | 'timestamp' | 'integer' | 'boolean' | 'list' | 'nigp';
  isRequired: boolean;
  /** The only texts that the field, or its list, accepts; null if it accepts others. */
  accepted: readonly string[] | null;
  /** The kind of record that the field refers to, or undefined. */
  refersTo: Kind | undefined;
}

/**
 * The fields of each kind that a table can hold, in the order of the import format. Documents, notices, questions and
 * requested items are lists of objects, which it cannot.
 */
export type Fields = Readonly<Record<Kind, Readonly<Record<string, FieldType>>>>;

const REFERENCES: Readonly<Record<string, Kind>> = {
  certifications: 'certifications',
  lead_entity_id: 'lead-entities',
  coop_id: 'coops',
  supplier_ids: 'suppliers',
  city_service_ids: 'city-services',
};

export function fieldsOf(schemas: RecordSchemas): Fields {
  return Object.fromEntries(KINDS.map((kind) => [kind, fieldsIn(schemas[kind])])) as unknown as Fields;
}

function fieldsIn({ properties = {}, required = [] }: Schema): Record<string, FieldType> {
  const fields: Record<string, FieldType> = {};
  for (const [name, schema] of Object.entries(properties)) {
    const type = name === 'nigp_codes' ? 'nigp' : typeOf(schema);
    if (type === null) continue;
    const accepted = ((schema.items ?? schema).enum ?? null) as readonly string[] | null;
    fields[name] = { type, accepted, isRequired: required.includes(name), refersTo: REFERENCES[name] };
  }
  return fields;
}

function typeOf({ type, format, items }: Schema): FieldType['type'] | null {
  if (items !== undefined) return items.properties === undefined ? 'list' : null;
  if (format === 'timestamp') return 'timestamp';
  return type === 'integer' || type === 'boolean' ? type : 'text';
}

/** The kind of record that can be created from a name in the field; a certification needs more than a name. */
export function creatableKind({ refersTo }: FieldType): Kind | undefined {
  return refersTo === 'certifications' ? undefined : refersTo;
}
