import { withoutClosingBrace } from '../finished-text.ts';
import type { SolicitationRecord } from './fields.ts';

/**
 * Renders the list item without its closing brace: `is_open` and `updated_at` are added on read.
 *
 * @param leadEntity its rendered NamedRef.
 */
export function renderSolicitation(record: SolicitationRecord, leadEntity: string): string {
  const { id, ref, reference_number, title, status, issuing_organization } = record;
  const { open_at, close_at, questions_due_at, intent_to_bid_due_at } = record;
  const timestamps = JSON.stringify({ open_at, close_at, questions_due_at, intent_to_bid_due_at });
  return (
    withoutClosingBrace(JSON.stringify({ id, ref, reference_number, title, status, issuing_organization })) +
    `,"lead_entity":${leadEntity},${withoutClosingBrace(timestamps.slice(1))}`
  );
}

/** Renders the fields that the detail adds to the list item, beginning with a comma and without a closing brace. */
export function renderSolicitationDetail(record: SolicitationRecord): string {
  const { description, require_intent_registration, created_at } = record;
  const { nigp_codes, documents, requested_items, notices, questions } = record;
  const detail = JSON.stringify({
    description,
    require_intent_registration,
    created_at,
    nigp_codes,
    documents,
    requested_items,
    notices,
    questions,
  });
  return `,${withoutClosingBrace(detail.slice(1))}`;
}
