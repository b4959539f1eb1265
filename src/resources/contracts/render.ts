import { withoutClosingBrace } from '../finished-text.ts';

/** A contract's own fields, and the finished text of what it embeds. */
export interface ContractParts {
  id: string;
  name: string;
  summary: string | null;
  description: string | null;
  leadEntity: string;
  coop: string | null;
  /** Embedded suppliers, whole, in the order of the import. */
  suppliers: readonly string[];
  /** City services, whole, in the order of the import. */
  cityServices: readonly string[];
}

/** A Contract without its closing brace: `updated_at` is added when it is read. */
export function renderContract(parts: ContractParts): string {
  const { id, name, summary, description } = parts;
  return (
    withoutClosingBrace(JSON.stringify({ id, name, summary, description })) +
    `,"lead_entity":${parts.leadEntity},"coop":${parts.coop ?? 'null'}` +
    `,"suppliers":[${parts.suppliers.join(',')}],"city_services":[${parts.cityServices.join(',')}]`
  );
}

/** What a rendered contract says of itself and names, for rendering it anew. */
export interface RenderedContract {
  id: string;
  name: string;
  summary: string | null;
  description: string | null;
  lead_entity: { id: string };
  coop: { id: string } | null;
  suppliers: { id: string }[];
  city_services: { id: string }[];
}

/** Reads back what {@link renderContract} made. */
export function parseRenderedContract(document: string): RenderedContract {
  return JSON.parse(`${document}}`) as RenderedContract;
}
