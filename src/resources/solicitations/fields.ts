import { NIGP_PATTERN } from '../../http/openapi/openapi-schemas.ts';
import {
  boolean,
  filledText,
  integer,
  list,
  nullable,
  object,
  oneOf,
  text,
  timestamp,
  type CompletedOf,
} from '../fields.ts';
import { withoutClosingBrace } from '../finished-text.ts';

/** A line of `solicitations.ndjson`. */
export const solicitationFields = object(
  {
    id: {
      ...text,
      pattern: '^(?!count$)(?![0-9]+$)[A-Za-z0-9_-]{1,64}$',
      description:
        'must be 1 to 64 of the characters A-Z a-z 0-9 _ -, at least one of them no digit, and not "count", which is a path of its own',
    },
    ref: { ...integer, minimum: 1, description: 'must be a positive whole number below 2^53' },
    reference_number: filledText,
    title: filledText,
    status: oneOf(['draft', 'open', 'closed', 'awarded', 'cancelled']),
    issuing_organization: nullable(text),
    lead_entity_id: text,
    open_at: nullable(timestamp),
    close_at: nullable(timestamp),
    questions_due_at: nullable(timestamp),
    intent_to_bid_due_at: nullable(timestamp),
    description: nullable(text),
    require_intent_registration: boolean,
    created_at: timestamp,
    updated_at: timestamp,
    nigp_codes: list({
      code: {
        ...text,
        pattern: NIGP_PATTERN,
        description: 'must be an NIGP code of 3, 5, 7 or 11 digits',
      },
      description: text,
    }),
    documents: list({
      id: integer,
      name: filledText,
      description: nullable(text),
      file_type: nullable(text),
      file_size: nullable({ ...integer, minimum: 0, description: 'must be a whole number of bytes' }),
    }),
    requested_items: list({
      id: integer,
      name: filledText,
      required: boolean,
      file_type: nullable(text),
      allows_multiple: boolean,
      instructions: nullable(text),
      template_document_id: nullable(integer),
    }),
    notices: list({ id: integer, title: filledText, body: text, created_at: timestamp }),
    questions: list({
      id: integer,
      title: filledText,
      body: text,
      answer: nullable(text),
      answered_at: nullable(timestamp),
      created_at: timestamp,
    }),
  },
  ['updated_at'],
);

/** Validated and completed: every field is present, timestamps are normalized. */
export type SolicitationRecord = CompletedOf<typeof solicitationFields>;

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
