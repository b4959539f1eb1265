import { KINDS, type Kind } from '../../kinds.ts';
import { RECORD_SCHEMAS } from '../../publishing/read/record-schemas.ts';

/** The type of a field that a column can be mapped to. */
export interface FieldType {
  type: 'text' | 'timestamp' | 'integer' | 'boolean' | 'list' | 'nigp';
  isRequired: boolean;
  /** The kind of record that the field refers to, if such records can be created from a name. */
  refersTo: Kind | undefined;
}

const REFERRED: Readonly<Record<string, Kind>> = {
  lead_entity_id: 'lead-entities',
  coop_id: 'coops',
  supplier_ids: 'suppliers',
  city_service_ids: 'city-services',
};

/**
 * The fields of each kind that a table can hold, in the order of the import format. Documents, notices, questions and
 * requested items are lists of objects, which it cannot.
 */
export const FIELDS = Object.fromEntries(KINDS.map((kind) => [kind, fieldsOf(kind)])) as Readonly<
  Record<Kind, Readonly<Record<string, FieldType>>>
>;

function fieldsOf(kind: Kind): Record<string, FieldType> {
  const { properties = {}, required = [] } = RECORD_SCHEMAS[kind];
  const fields: Record<string, FieldType> = {};
  for (const [name, schema] of Object.entries(properties)) {
    const type = name === 'nigp_codes' ? 'nigp' : typeOf(schema);
    if (type !== null) fields[name] = { type, isRequired: required.includes(name), refersTo: REFERRED[name] };
  }
  return fields;
}

function typeOf({ type, format, items }: (typeof RECORD_SCHEMAS)[Kind]): FieldType['type'] | null {
  if (items !== undefined) return items.properties === undefined ? 'list' : null;
  if (format === 'instant') return 'timestamp';
  return type === 'integer' || type === 'boolean' ? type : 'text';
}
