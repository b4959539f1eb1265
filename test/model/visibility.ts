import type { Contract, Records, Solicitation } from './records.ts';

/** What a partner was granted: each with the instant from which it counts. */
export interface ModelScope {
  everythingSince: string | null;
  leadEntities: Readonly<Record<string, string>>;
  coops: Readonly<Record<string, string>>;
}

/** What a partner sees: id → the instant from which it is visible, by grant and by publication. */
export interface Visible {
  leadEntities: ReadonlySet<string>;
  coops: ReadonlySet<string>;
  contracts: ReadonlyMap<string, string>;
  suppliers: ReadonlyMap<string, string>;
  solicitations: ReadonlyMap<string, string>;
}

/** Walks all records once and keeps those that the scope shows. */
export function visibleTo(scope: ModelScope, records: Records): Visible {
  const leadEntities = new Set(Object.keys(scope.leadEntities));
  const coops = new Set(Object.keys(scope.coops));
  const contracts = new Map<string, string>();
  const suppliers = new Map<string, string>();
  const solicitations = new Map<string, string>();

  if (scope.everythingSince !== null) {
    for (const id of records.leadEntities.keys()) leadEntities.add(id);
    for (const id of records.coops.keys()) coops.add(id);
    for (const { id, publishedAt } of records.suppliers.values()) {
      suppliers.set(id, later(publishedAt, scope.everythingSince));
    }
  }
  for (const contract of records.contracts.values()) {
    const grantedAt = grantOfContract(scope, contract);
    if (grantedAt === null) continue;
    const since = later(contract.publishedAt, grantedAt);
    contracts.set(contract.id, since);
    leadEntities.add(contract.lead_entity_id);
    if (contract.coop_id !== null) coops.add(contract.coop_id);
    for (const id of contract.supplier_ids) suppliers.set(id, earliest([suppliers.get(id), since]) ?? since);
  }
  for (const solicitation of records.solicitations.values()) {
    const grantedAt = grantOfSolicitation(scope, solicitation);
    if (grantedAt !== null) solicitations.set(solicitation.id, later(solicitation.publishedAt, grantedAt));
  }
  return { leadEntities, coops, contracts, suppliers, solicitations };
}

function grantOfContract(scope: ModelScope, contract: Contract): string | null {
  return earliest([
    scope.everythingSince,
    scope.leadEntities[contract.lead_entity_id],
    contract.coop_id === null ? null : scope.coops[contract.coop_id],
  ]);
}

function grantOfSolicitation(scope: ModelScope, solicitation: Solicitation): string | null {
  if (solicitation.status === 'draft') return null;
  return earliest([scope.everythingSince, scope.leadEntities[solicitation.lead_entity_id]]);
}

function later(one: string, other: string): string {
  return one > other ? one : other;
}

function earliest(instants: (string | null | undefined)[]): string | null {
  return instants.filter((value) => typeof value === 'string').sort()[0] ?? null;
}
