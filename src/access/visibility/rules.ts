import type { IndexedKind, Kind } from '../../kinds.ts';

/*
 * The rules of who sees which record. Everything that depends on them follows from the two tables in this file: conditions
 * of the index and of SQL, departures, and what partners lose by an import. `docs/visibility.md` lists the code.
 */

/**
 * The owners of records, which a partner can be granted apart from everything. Each has
 *
 * - `label` and `word`, its names in messages and on the command line;
 * - `grants`, the name of its grants in a `Scope`;
 * - `table`, and `column`, which has its id in the tables of records;
 * - `suppliers`, the table of the suppliers that its contracts name;
 * - `parameter`, for the granted ids in SQL and in the audit trail.
 *
 * CONTRIBUTING.md lists what another one needs elsewhere.
 */
export const OWNERS = {
  lead_entity: {
    label: 'lead entity',
    word: 'lead-entity',
    grants: 'leadEntities',
    table: 'catalog.lead_entities',
    column: 'lead_entity_id',
    suppliers: 'catalog.supplier_lead_entities',
    parameter: 'lead_entities',
  },
  coop: {
    label: 'coop',
    word: 'coop',
    grants: 'coops',
    table: 'catalog.coops',
    column: 'coop_id',
    suppliers: 'catalog.supplier_coops',
    parameter: 'coops',
  },
} as const;

/** As in `access.grants`, and the name of the owner's terms in the index. */
export type Owner = keyof typeof OWNERS;

export const OWNER_KINDS = Object.keys(OWNERS) as readonly Owner[];

export type GrantsName = (typeof OWNERS)[Owner]['grants'];

export type ByOwner<T> = Readonly<Record<GrantsName, T>>;

/** The records of a kind that the grant of an owner shows: its own, those that its contracts name, or the owner itself. */
export type Shown = 'own' | 'named' | 'itself';

/**
 * The records of each kind that each grant shows: none if the grant is not listed. Null for kinds of which every partner
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
