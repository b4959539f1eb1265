import { withoutClosingBrace } from '../finished-text.ts';

/** An imported solicitation: validated and completed, timestamps in stored form. */
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

interface SolicitationDocument {
  id: number;
  name: string;
  description: string | null;
  file_type: string | null;
  file_size: number | null;
}

interface SolicitationRequestedItem {
  id: number;
  name: string;
  required: boolean;
  file_type: string | null;
  allows_multiple: boolean;
  instructions: string | null;
  template_document_id: number | null;
}

interface SolicitationQuestion {
  id: number;
  title: string;
  body: string;
  answer: string | null;
  answered_at: string | null;
  created_at: string;
}

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
