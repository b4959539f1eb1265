import type { IndexedKind, Kind } from '../../kinds.ts';

/*
 * Who sees which record. Everything that depends on it follows from the two tables in this file: conditions of the index
 * and of SQL, departures, and what partners lose by an import. `docs/visibility.md` lists where.
 */

/**
 * What a partner can be granted, apart from everything: the owners of records. Each has the name of its grants in a
 * `Scope`; the column with its id in records; the parameter for the granted ids in SQL; and the table of the suppliers
 * that its contracts name.
 */
export const OWNERS = {
  lead_entity: {
    grants: 'leadEntities',
    column: 'lead_entity_id',
    parameter: 'lead_entities',
    suppliers: 'catalog.supplier_lead_entities',
  },
  coop: { grants: 'coops', column: 'coop_id', parameter: 'coops', suppliers: 'catalog.supplier_coops' },
} as const;

/** As in `access.grants`, and the name of the owner's terms in the index. */
export type Owner = keyof typeof OWNERS;

export const OWNER_KINDS = Object.keys(OWNERS) as readonly Owner[];

/** The records of a kind that the grant of an owner shows: its own, those that its contracts name, or the owner itself. */
export type Shown = 'own' | 'named' | 'itself';

/**
 * What each grant shows of each kind; nothing of the kinds that it does not name. Null for kinds of which every partner
 * sees all records. A partner that is granted everything sees all records of all kinds. No partner sees drafts.
 */
export const RULES = {
  contracts: { lead_entity: 'own', coop: 'own' },
  solicitations: { lead_entity: 'own' },
  suppliers: { lead_entity: 'named', coop: 'named' },
  'lead-entities': { lead_entity: 'itself', coop: 'named' },
  coops: { coop: 'itself', lead_entity: 'named' },
  'city-services': null,
  certifications: null,
} as const satisfies Record<IndexedKind, Rule> & Record<Kind, Rule | null>;

type Rule = Readonly<Partial<Record<Owner, Shown>>>;

/** The owners whose grants show records of a kind, each with the records that it shows. */
export function shownBy(kind: Kind): [Owner, Shown][] {
  return Object.entries(RULES[kind] ?? {}) as [Owner, Shown][];
}

/** The kinds whose records can be drafts, by their `status`. */
export function hasDrafts(kind: Kind): boolean {
  return kind === 'solicitations';
}

/** Whether a row is a draft, which no partner sees. */
export function isDraft({ status }: { readonly status?: string }): boolean {
  return status === 'draft';
}
