import type { SolicitationRecord } from '../resources/solicitations/record.ts';

/** Records of the import format, checked and completed: every field is there, instants are in their stored form. */

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

/** What the file of each kind holds. */
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

/** In the order in which they refer to each other: a record only names records of kinds before its own. */
export const RECORD_KINDS: readonly RecordKind[] = [
  'lead-entities',
  'coops',
  'city-services',
  'certifications',
  'suppliers',
  'contracts',
  'solicitations',
];

/** The kinds that may be large. Their row numbers follow the order of their ids. */
const NUMBERED_KINDS = ['suppliers', 'contracts', 'solicitations'] as const satisfies RecordKind[];

export type NumberedKind = (typeof NUMBERED_KINDS)[number];

export function isNumbered(kind: RecordKind): kind is NumberedKind {
  return (NUMBERED_KINDS as readonly RecordKind[]).includes(kind);
}

/** A certification is known by its abbreviation, everything else by its id. */
export function keyField(kind: RecordKind): 'id' | 'abbreviation' {
  return kind === 'certifications' ? 'abbreviation' : 'id';
}
