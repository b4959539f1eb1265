import { withoutClosingBrace } from '../finished-text.ts';
import type { ContractRecord } from './fields.ts';

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
