import { withoutClosingBrace } from '../finished-text.ts';

/** A contract's own fields, and the rendered JSON of everything it embeds. */
interface ContractParts {
  id: string;
  name: string;
  summary: string | null;
  description: string | null;
  leadEntity: string;
  coop: string | null;
  /** Complete embedded suppliers, in import order. */
  suppliers: readonly string[];
  /** Complete city services, in import order. */
  cityServices: readonly string[];
}

/** Renders a Contract without its closing brace: `updated_at` is added on read. */
export function renderContract(parts: ContractParts): string {
  const { id, name, summary, description } = parts;
  return (
    withoutClosingBrace(JSON.stringify({ id, name, summary, description })) +
    `,"lead_entity":${parts.leadEntity},"coop":${parts.coop ?? 'null'}` +
    `,"suppliers":[${parts.suppliers.join(',')}],"city_services":[${parts.cityServices.join(',')}]`
  );
}

/** The fields and references of a rendered contract, as needed to rerender it. */
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

/** Parses the output of {@link renderContract}. */
export function parseRenderedContract(document: string): RenderedContract {
  return JSON.parse(`${document}}`) as RenderedContract;
}
