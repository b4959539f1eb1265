import { sql } from 'kysely';
import type { Database } from '../database/database.ts';
import { isOneOf } from '../database/statement.ts';
import { INDEXED_KINDS, isIndexed, type IndexedKind, type Kind } from '../kinds.ts';
import { parseStoredKinds } from './partner-records.ts';
import { awaitByOwner, byOwner, listOwners, type OwnerIds } from './visibility/owners.ts';
import { OWNERS, type Owner } from './visibility/rules.ts';
import { countShown } from './visibility/scope-sql.ts';

/** A partner and what it was granted. */
export interface GrantedPartner extends OwnerIds {
  readonly name: string;
  readonly everything: boolean;
  /** Null for all kinds. */
  readonly kinds: readonly Kind[] | null;
}

/** The grants of a partner that have no effect: the owners that the catalog does not contain. */
export interface IdleGrants extends OwnerIds {
  readonly partner: string;
  /** True if it sees no contract, solicitation or supplier, though its kinds include one of them. */
  readonly seesNothing: boolean;
}

/** All partners, also without grants, by name. Reads `access` alone, all of its grants. */
export async function listGrantedPartners({ kysely }: Database): Promise<GrantedPartner[]> {
  const rows = await kysely
    .selectFrom('access.partners as partner')
    .leftJoin('access.grants as granted', 'granted.partner_id', 'partner.id')
    .select(['partner.name', 'partner.kinds', 'partner.everything_since', 'granted.kind', 'granted.resource_id as id'])
    .where('partner.deleted_at', 'is', null)
    .orderBy('partner.name')
    .orderBy('granted.resource_id')
    .execute();
  return Array.from(
    Map.groupBy(rows, ({ name }) => name),
    ([name, grants]) => ({
      name,
      everything: (grants[0]?.everything_since ?? null) !== null,
      kinds: parseStoredKinds(grants[0]?.kinds ?? null),
      ...byOwner((owner) => grants.flatMap(({ kind, id }) => (kind === owner && id !== null ? id : []))),
    }),
  );
}

/**
 * The partners among these, without those that see everything, whose grants do not all have an effect. Reads `catalog`
 * alone.
 */
export async function findIdleGrants(database: Database, all: readonly GrantedPartner[]): Promise<IdleGrants[]> {
  const partners = all.filter(({ everything }) => !everything);
  const stored = await awaitByOwner((owner, grants) =>
    countShownBy(database, owner, [...new Set(partners.flatMap((partner) => partner[grants]))], 1),
  );
  const idle = partners.map((partner): IdleGrants => {
    const { name, kinds } = partner;
    const shown = listOwners(partner).map(({ owner, id }) => stored[OWNERS[owner].grants].get(id));
    return {
      partner: name,
      ...byOwner((_, grants) => partner[grants].filter((id) => !stored[grants].has(id))),
      seesNothing: (kinds?.some(isIndexed) ?? true) && shown.every((each) => kindsShown(kinds, each).length === 0),
    };
  });
  return idle.filter((grants) => grants.seesNothing || listOwners(grants).length > 0);
}

/** The number of records of each kind that a grant shows. */
export type ShownRecords = Readonly<Record<IndexedKind, number>>;

/** Counts the records that grants of these owners show, up to `max`. Owners that the catalog lacks are left out. */
export async function countShownBy(
  { engine, kysely }: Database,
  owner: Owner,
  ids: readonly string[],
  max = Number.MAX_SAFE_INTEGER,
): Promise<Map<string, ShownRecords>> {
  if (ids.length === 0) return new Map();
  const id = sql.ref('owner.id');
  const counts = INDEXED_KINDS.map((kind) => sql`${countShown(kind, owner, id, max)} as ${sql.ref(kind)}`);
  const { rows } = await sql<{ id: string } & ShownRecords>`select ${id} as id, ${sql.join(counts)}
    from ${sql.table(OWNERS[owner].table)} as owner where ${isOneOf(engine, id, ids)}`.execute(kysely);
  return new Map(rows.map(({ id: found, ...shown }) => [found, shown]));
}

/** Of the kinds that a partner can request, those of which there are records. */
export function kindsShown(kinds: readonly Kind[] | null, shown: ShownRecords | null | undefined): IndexedKind[] {
  return INDEXED_KINDS.filter((kind) => (kinds?.includes(kind) ?? true) && (shown?.[kind] ?? 0) > 0);
}

const MAX_LISTED = 5;

/** Lead entities and coops in a sentence: `lead entity "le_a", coop "co_x"`. */
export function namedOwners(owners: OwnerIds): string {
  const named = listOwners(owners).map(({ owner, id }) => `${OWNERS[owner].label} "${id}"`);
  const more = named.length - MAX_LISTED;
  return named.slice(0, MAX_LISTED).join(', ') + (more > 0 ? ` and ${more} more` : '');
}
