import type { Contract, NamedRef, Records, Solicitation, Supplier } from './records.ts';

/** A parsed record as the API serves it. */
export type Served = Record<string, unknown>;

/** Whether bidding is open at a timestamp. */
export function isOpen({ status, close_at: closeAt }: Solicitation, now: string): boolean {
  return status === 'open' && (closeAt === null || closeAt > now);
}

const PREVIEW_SIZE = 10;
const PREVIEW_OF_EACH_TYPE = 5;

export function servedContract(contract: Contract, records: Records): Served {
  return {
    id: contract.id,
    name: contract.name,
    summary: contract.summary,
    description: contract.description,
    lead_entity: ref(records.leadEntities, contract.lead_entity_id),
    coop: contract.coop_id === null ? null : ref(records.coops, contract.coop_id),
    suppliers: contract.supplier_ids.map((id) => embeddedSupplier(known(records.suppliers, id))),
    city_services: contract.city_service_ids.map((id) => ref(records.cityServices, id)),
    updated_at: contract.updatedAt,
  };
}

function embeddedSupplier(supplier: Supplier): Served {
  return {
    id: supplier.id,
    name: supplier.name,
    states_served: [...supplier.states_served].sort(),
    location: supplier.location,
    logo: supplier.logo,
    email: supplier.email,
    website: supplier.website,
  };
}

/** A supplier as served: the detail has all certifications, a list item a preview of them. */
export function servedSupplier(supplier: Supplier, records: Records, form: 'list' | 'detail'): Served {
  const ofType = (type: string): string[] =>
    supplier.certifications
      .filter((abbreviation) => known(records.certifications, abbreviation).type === type)
      .sort(bytewise);
  const sbe = ofType('sbe');
  const technical = ofType('technical');
  const sbeShown = Math.max(PREVIEW_OF_EACH_TYPE, PREVIEW_SIZE - technical.length);
  const technicalShown = Math.max(PREVIEW_OF_EACH_TYPE, PREVIEW_SIZE - sbe.length);
  return {
    ...embeddedSupplier(supplier),
    updated_at: supplier.updatedAt,
    certifications:
      form === 'detail' ? [...sbe, ...technical] : [...sbe.slice(0, sbeShown), ...technical.slice(0, technicalShown)],
  };
}

export function servedSolicitation(solicitation: Solicitation, records: Records, now: string): Served {
  return {
    id: solicitation.id,
    ref: solicitation.ref,
    reference_number: solicitation.reference_number,
    title: solicitation.title,
    status: solicitation.status,
    issuing_organization: solicitation.issuing_organization,
    lead_entity: ref(records.leadEntities, solicitation.lead_entity_id),
    is_open: isOpen(solicitation, now),
    open_at: solicitation.open_at,
    close_at: solicitation.close_at,
    questions_due_at: solicitation.questions_due_at,
    intent_to_bid_due_at: solicitation.intent_to_bid_due_at,
    updated_at: solicitation.updatedAt,
  };
}

export function servedSolicitationDetail(solicitation: Solicitation, records: Records, now: string): Served {
  return {
    ...servedSolicitation(solicitation, records, now),
    description: solicitation.description,
    require_intent_registration: solicitation.require_intent_registration,
    created_at: solicitation.created_at,
    nigp_codes: solicitation.nigp_codes,
    documents: solicitation.documents,
    requested_items: solicitation.requested_items,
    notices: solicitation.notices,
    questions: solicitation.questions,
  };
}

function ref(named: ReadonlyMap<string, NamedRef>, id: string): Served {
  const { name } = known(named, id);
  return { id, name };
}

function known<T>(map: ReadonlyMap<string, T>, id: string): T {
  const found = map.get(id);
  if (found === undefined) throw new Error(`the data refers to ${id}, which it does not hold`);
  return found;
}

/** Compares by UTF-8 bytes; JavaScript compares UTF-16 code units. */
export function bytewise(one: string, other: string): number {
  return Buffer.compare(Buffer.from(one), Buffer.from(other));
}
