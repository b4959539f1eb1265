import { filledText, id, nullable, object, set, text, timestamp, type CompletedOf } from '../fields.ts';

/** A line of `contracts.ndjson`. The order of the fields is that of the stored record, whose hash depends on it. */
export const contractFields = object(
  {
    id,
    name: filledText,
    summary: nullable(text),
    description: nullable(text),
    lead_entity_id: text,
    coop_id: nullable(text),
    supplier_ids: set(text, 'sup_1'),
    city_service_ids: set(text, 'cs_1'),
    updated_at: timestamp,
  },
  ['updated_at'],
);

/** Validated and completed: every field is present, timestamps are normalized. */
export type ContractRecord = CompletedOf<typeof contractFields>;
