import { filledText, id, nullable, object, set, text, timestamp, type CompletedOf } from '../fields.ts';
import { withoutClosingBrace } from '../finished-text.ts';

/** A line of `contracts.ndjson`. */
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

/** The rendered JSON of everything that a contract embeds, in the record's order. */
interface EmbeddedRecords {
  leadEntity: string;
  coop: string | null;
  suppliers: readonly string[];
  cityServices: readonly string[];
}

/** Renders a Contract without its closing brace: `updated_at` is added on read. */
export function renderContract(
  { id, name, summary, description }: ContractRecord,
  { leadEntity, coop, suppliers, cityServices }: EmbeddedRecords,
): string {
  return (
    withoutClosingBrace(JSON.stringify({ id, name, summary, description })) +
    `,"lead_entity":${leadEntity},"coop":${coop ?? 'null'}` +
    `,"suppliers":[${suppliers.join(',')}],"city_services":[${cityServices.join(',')}]`
  );
}
