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
