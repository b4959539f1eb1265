import { hash } from 'node:crypto';
import type { SolicitationRow } from '../database/tables.ts';
import type { Kind } from '../kinds.ts';
import type { ContractRecord } from '../resources/contracts/fields.ts';
import { parseRenderedContract } from '../resources/contracts/render.ts';
import type { RecordOf } from './read/record-schemas.ts';

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
