import type { Kind } from '../../kinds.ts';

/** The type of a field that a column can be mapped to. */
export interface FieldType {
  type: 'text' | 'timestamp' | 'integer' | 'boolean' | 'list' | 'nigp';
  isRequired: boolean;
  /** The kind of record that the field refers to. */
  refersTo?: 'lead-entities' | 'coops' | 'city-services' | 'suppliers';
}

const required = (type: FieldType['type'], refersTo?: FieldType['refersTo']): FieldType => ({
  ...{ type, isRequired: true },
  ...(refersTo === undefined ? {} : { refersTo }),
});
const optional = (type: FieldType['type'], refersTo?: FieldType['refersTo']): FieldType => ({
  ...required(type, refersTo),
  isRequired: false,
});

const named = { id: required('text'), name: required('text') };

/**
 * The fields of each kind that a table can hold. Documents, notices, questions and requested items are lists of objects,
 * which it cannot.
 */
export const FIELDS: Readonly<Record<Kind, Readonly<Record<string, FieldType>>>> = {
  'lead-entities': named,
  coops: named,
  'city-services': named,
  certifications: { abbreviation: required('text'), name: required('text'), type: required('text') },
  suppliers: {
    ...named,
    short_intro: optional('text'),
    about: optional('text'),
    states_served: optional('list'),
    certifications: optional('list'),
    city_service_ids: optional('list', 'city-services'),
    location: optional('text'),
    logo: optional('text'),
    email: optional('text'),
    website: optional('text'),
    updated_at: optional('timestamp'),
  },
  contracts: {
    ...named,
    summary: optional('text'),
    description: optional('text'),
    lead_entity_id: required('text', 'lead-entities'),
    coop_id: optional('text', 'coops'),
    supplier_ids: optional('list', 'suppliers'),
    city_service_ids: optional('list', 'city-services'),
    updated_at: optional('timestamp'),
  },
  solicitations: {
    id: required('text'),
    ref: required('integer'),
    reference_number: required('text'),
    title: required('text'),
    status: required('text'),
    issuing_organization: optional('text'),
    lead_entity_id: required('text', 'lead-entities'),
    open_at: optional('timestamp'),
    close_at: optional('timestamp'),
    questions_due_at: optional('timestamp'),
    intent_to_bid_due_at: optional('timestamp'),
    description: optional('text'),
    require_intent_registration: required('boolean'),
    created_at: required('timestamp'),
    updated_at: optional('timestamp'),
    nigp_codes: optional('nigp'),
  },
};
