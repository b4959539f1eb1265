import type { SolicitationRecord } from '../resources/solicitations/record.ts';

/** Records of the import format, validated and completed: every field is present, timestamps are normalized. */

export interface NamedRecord {
  id: string;
  name: string;
}

export interface CertificationRecord {
  abbreviation: string;
  name: string;
  type: 'sbe' | 'technical';
}

export interface SupplierRecord {
  id: string;
  name: string;
  short_intro: string | null;
  about: string | null;
  states_served: string[];
  certifications: string[];
  city_service_ids: string[];
  location: string | null;
  logo: string | null;
  email: string | null;
  website: string | null;
}

export interface ContractRecord {
  id: string;
  name: string;
  summary: string | null;
  description: string | null;
  lead_entity_id: string;
  coop_id: string | null;
  supplier_ids: string[];
  city_service_ids: string[];
}

/** The record type of each kind's file. */
export interface RecordOf {
  'lead-entities': NamedRecord;
  coops: NamedRecord;
  'city-services': NamedRecord;
  certifications: CertificationRecord;
  suppliers: SupplierRecord;
  contracts: ContractRecord;
  solicitations: SolicitationRecord;
}

export type RecordKind = keyof RecordOf;

/** In dependency order: a record only refers to records of earlier kinds. */
export const RECORD_KINDS: readonly RecordKind[] = [
  'lead-entities',
  'coops',
  'city-services',
  'certifications',
  'suppliers',
  'contracts',
  'solicitations',
];

/** The kinds that can be large. Their rows have a number and a position in the index. */
const NUMBERED_KINDS = ['suppliers', 'contracts', 'solicitations'] as const satisfies RecordKind[];

export type NumberedKind = (typeof NUMBERED_KINDS)[number];

export function isNumbered(kind: RecordKind): kind is NumberedKind {
  return (NUMBERED_KINDS as readonly RecordKind[]).includes(kind);
}

/** The key of certifications is their abbreviation; of all other kinds, the id. */
export function keyField(kind: RecordKind): 'id' | 'abbreviation' {
  return kind === 'certifications' ? 'abbreviation' : 'id';
}
