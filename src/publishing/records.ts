import { hash } from 'node:crypto';
import type { SolicitationRow } from '../database/tables.ts';
import type { Kind, NamedRefKind } from '../kinds.ts';
import { parseRenderedContract, type RenderedContract } from '../resources/contracts/render.ts';
import type { SolicitationRecord } from '../resources/solicitations/render.ts';

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

export interface ContractRecord extends Pick<RenderedContract, 'id' | 'name' | 'summary' | 'description'> {
  lead_entity_id: string;
  coop_id: string | null;
  supplier_ids: string[];
  city_service_ids: string[];
}

/** The record type of each kind's file. */
export interface RecordOf extends Record<NamedRefKind, NamedRecord> {
  certifications: CertificationRecord;
  suppliers: SupplierRecord;
  contracts: ContractRecord;
  solicitations: SolicitationRecord;
}

/** The columns of a solicitation that can be computed without the database; `insertLeadEntity` completes `document`. */
export type PreparedSolicitation = Pick<
  SolicitationRow,
  'ref' | 'lead_entity_id' | 'status' | 'close_at' | 'own_hash' | 'document' | 'detail'
>;

/** The input of the writers: the record itself, except for solicitations, which are large and numerous. */
export type PreparedRecord = Omit<RecordOf, 'solicitations'> & { solicitations: PreparedSolicitation };

/** The record of a rendered contract. */
export function contractRecordOf(document: string): ContractRecord {
  const { lead_entity, coop, suppliers, city_services, ...own } = parseRenderedContract(document);
  return {
    ...own,
    lead_entity_id: lead_entity.id,
    coop_id: coop?.id ?? null,
    supplier_ids: suppliers.map(({ id }) => id),
    city_service_ids: city_services.map(({ id }) => id),
  };
}

/** The key of certifications is their abbreviation; of all other kinds, the id. */
export function keyField(kind: Kind): 'id' | 'abbreviation' {
  return kind === 'certifications' ? 'abbreviation' : 'id';
}

/** Identifies content: 128 bits of SHA-256. */
export function contentHash(content: string | Uint8Array): string {
  return hash('sha256', content, 'base64url').slice(0, 22);
}
