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

export interface SolicitationRecord {
  id: string;
  ref: number;
  reference_number: string;
  title: string;
  status: 'draft' | 'open' | 'closed' | 'awarded' | 'cancelled';
  issuing_organization: string | null;
  lead_entity_id: string;
  open_at: string | null;
  close_at: string | null;
  questions_due_at: string | null;
  intent_to_bid_due_at: string | null;
  description: string | null;
  require_intent_registration: boolean;
  created_at: string;
  nigp_codes: { code: string; description: string }[];
  documents: SolicitationDocument[];
  requested_items: SolicitationRequestedItem[];
  notices: { id: number; title: string; body: string; created_at: string }[];
  questions: SolicitationQuestion[];
}

export interface SolicitationDocument {
  id: number;
  name: string;
  description: string | null;
  file_type: string | null;
  file_size: number | null;
}

export interface SolicitationRequestedItem {
  id: number;
  name: string;
  required: boolean;
  file_type: string | null;
  allows_multiple: boolean;
  instructions: string | null;
  template_document_id: number | null;
}

export interface SolicitationQuestion {
  id: number;
  title: string;
  body: string;
  answer: string | null;
  answered_at: string | null;
  created_at: string;
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

/** A certification is known by its abbreviation, everything else by its id. */
export function keyField(kind: RecordKind): 'id' | 'abbreviation' {
  return kind === 'certifications' ? 'abbreviation' : 'id';
}
