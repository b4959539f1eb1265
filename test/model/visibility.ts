import type { Contract, Records } from './records.ts';

/** A partner's grants, each with the timestamp from which it applies. */
export interface ModelScope {
  everythingSince: string | null;
  leadEntities: Readonly<Record<string, string>>;
  coops: Readonly<Record<string, string>>;
}

/**
 * Since when a partner sees a record in its present form. A sync from `first` or earlier must return the record, one
 * from `last` or earlier can: `last` is when the last of several grants began to show it.
 */
export interface Sighting {
  first: string;
  last: string;
}

/** The records that a partner sees, by id. */
export interface Visible {
  leadEntities: ReadonlySet<string>;
  coops: ReadonlySet<string>;
  contracts: ReadonlyMap<string, Sighting>;
  suppliers: ReadonlyMap<string, Sighting>;
  solicitations: ReadonlyMap<string, Sighting>;
}

/** Scans all records once, and returns those that the scope shows. */
export function visibleTo(scope: ModelScope, records: Records): Visible {
  const leadEntities = new Set(Object.keys(scope.leadEntities));
  const coops = new Set(Object.keys(scope.coops));
  const contracts = new Map<string, Sighting>();
  const suppliers = new Map<string, Sighting>();
  const solicitations = new Map<string, Sighting>();

  if (scope.everythingSince !== null) {
    for (const id of records.leadEntities.keys()) leadEntities.add(id);
    for (const id of records.coops.keys()) coops.add(id);
  }
  const ways = new Map<string, string[]>();
  for (const contract of records.contracts.values()) {
    const opened = waysTo(contract, grantsOf(scope, contract));
    if (opened.length === 0) continue;
    contracts.set(contract.id, sighting(opened));
    leadEntities.add(contract.lead_entity_id);
    if (contract.coop_id !== null) coops.add(contract.coop_id);
    // A partner that sees everything sees all suppliers, regardless of contracts.
    const throughContract = waysTo(contract, grantsOf({ ...scope, everythingSince: null }, contract));
    for (const id of contract.supplier_ids) ways.set(id, [...(ways.get(id) ?? []), ...throughContract]);
  }
  for (const supplier of records.suppliers.values()) {
    const opened = [...waysTo(supplier, [scope.everythingSince]), ...(ways.get(supplier.id) ?? [])];
    if (opened.length > 0) suppliers.set(supplier.id, sighting(opened.map((at) => later(at, supplier.publishedAt))));
  }
  for (const solicitation of records.solicitations.values()) {
    if (solicitation.status === 'draft') continue;
    const opened = waysTo(solicitation, [scope.everythingSince, scope.leadEntities[solicitation.lead_entity_id]]);
    if (opened.length > 0) solicitations.set(solicitation.id, sighting(opened));
  }
  return { leadEntities, coops, contracts, suppliers, solicitations };
}

type Granted = string | null | undefined;

function grantsOf(scope: ModelScope, contract: Contract): Granted[] {
  const ofCoop = contract.coop_id === null ? null : scope.coops[contract.coop_id];
  return [scope.everythingSince, scope.leadEntities[contract.lead_entity_id], ofCoop];
}

/** The timestamps at which each grant began to show the record. */
function waysTo({ publishedAt }: { publishedAt: string }, grants: Granted[]): string[] {
  return grants.filter((granted) => typeof granted === 'string').map((granted) => later(granted, publishedAt));
}

function sighting(opened: string[]): Sighting {
  const [first = '', ...others] = opened.sort();
  return { first, last: others.at(-1) ?? first };
}

function later(one: string, other: string): string {
  return one > other ? one : other;
}
