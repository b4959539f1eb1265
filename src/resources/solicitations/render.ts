import type { SolicitationRecord } from './record.ts';
import { withoutClosingBrace } from '../finished-text.ts';

/**
 * The list item without its closing brace: `is_open` and `updated_at` are added when it is read.
 *
 * @param leadEntity its finished NamedRef.
 */
export function renderSolicitation(record: SolicitationRecord, leadEntity: string): string {
  const { id, ref, reference_number, title, status, issuing_organization } = record;
  const { open_at, close_at, questions_due_at, intent_to_bid_due_at } = record;
  const instants = JSON.stringify({ open_at, close_at, questions_due_at, intent_to_bid_due_at });
  return (
    withoutClosingBrace(JSON.stringify({ id, ref, reference_number, title, status, issuing_organization })) +
    `,"lead_entity":${leadEntity},${withoutClosingBrace(instants.slice(1))}`
  );
}

/** What the detail adds to the list item: begins with a comma, has no closing brace. */
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
