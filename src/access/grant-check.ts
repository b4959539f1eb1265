import { sql } from 'kysely';
import type { Database } from '../database/database.ts';
import { isOneOf } from '../database/statement.ts';
import type { Kind } from '../kinds.ts';
import { parseStoredKinds } from './partner-records.ts';
import { awaitByOwner, byOwner, listOwners, type OwnerIds } from './visibility/owners.ts';
import { OWNERS, type Owner } from './visibility/rules.ts';
import { ownsShown } from './visibility/scope-sql.ts';

/** A partner that sees only what it was granted, not everything. */
export interface GrantedPartner extends OwnerIds {
  readonly name: string;
  /** Null for all kinds. */
  readonly kinds: readonly Kind[] | null;
}

/** The grants of a partner that have no effect: the owners that the catalog does not contain. */
export interface IdleGrants extends OwnerIds {
  readonly partner: string;
  /** True if it sees no contract, solicitation or supplier, though its kinds include one of them. */
  readonly seesNothing: boolean;
}

/** All partners with individual grants only, also without any, by name. Reads `access` alone, all of its grants. */
export async function listGrantedPartners({ kysely }: Database): Promise<GrantedPartner[]> {
  const rows = await kysely
    .selectFrom('access.partners as partner')
    .leftJoin('access.grants as granted', 'granted.partner_id', 'partner.id')
    .select(['partner.name', 'partner.kinds', 'granted.kind', 'granted.resource_id as id'])
    .where('partner.everything_since', 'is', null)
    .where('partner.deleted_at', 'is', null)
    .orderBy('partner.name')
    .orderBy('granted.resource_id')
    .execute();
  return Array.from(
    Map.groupBy(rows, ({ name }) => name),
    ([name, grants]) => ({
      name,
      kinds: parseStoredKinds(grants[0]?.kinds ?? null),
      ...byOwner((owner) => grants.flatMap(({ kind, id }) => (kind === owner && id !== null ? id : []))),
    }),
  );
}

/**
 * The partners among these whose grants do not all have an effect. Reads `catalog` alone: a few index entries for each
 * granted lead entity and coop, however many partners have it and records it owns.
 */
export async function findIdleGrants(database: Database, partners: readonly GrantedPartner[]): Promise<IdleGrants[]> {
  const stored = await awaitByOwner((owner, grants) =>
    readOwners(database, owner, new Set(partners.flatMap((partner) => partner[grants]))),
  );
  const idle = partners.map((partner): IdleGrants => {
    const owners = listOwners(partner).map(({ owner, id }) => stored[OWNERS[owner].grants].get(id));
    return {
      partner: partner.name,
      ...byOwner((_, grants) => partner[grants].filter((id) => !stored[grants].has(id))),
      seesNothing: seesNothing(partner, owners),
    };
  });
  return idle.filter(isIdle);
}

/** Whether one of them has no effect, or all of them together. */
export function isIdle(grants: IdleGrants): boolean {
  return grants.seesNothing || listOwners(grants).length > 0;
}

/** The kinds of which the grant of an owner shows records. */
interface OwnedKinds {
  /** Contracts, and so suppliers. */
  readonly contracts: boolean;
  readonly solicitations: boolean;
}

/** Served by the primary keys, and the indexes of contracts and solicitations on their owners. */
async function readOwners(
  { engine, kysely }: Database,
  owner: Owner,
  ids: ReadonlySet<string>,
): Promise<Map<string, OwnedKinds>> {
  if (ids.size === 0) return new Map();
  const id = sql.ref('owner.id');
  const { rows } = await sql<{ id: string; contracts: unknown; solicitations: unknown }>`
    select ${id} as id, ${ownsShown('contracts', owner, id)} as contracts,
      ${ownsShown('solicitations', owner, id)} as solicitations
    from ${sql.table(OWNERS[owner].table)} as owner where ${isOneOf(engine, id, [...ids])}`.execute(kysely);
  // SQLite's booleans are numbers.
  const toOwned = (row: (typeof rows)[number]): OwnedKinds => {
    return { contracts: Boolean(row.contracts), solicitations: Boolean(row.solicitations) };
  };
  return new Map(rows.map((row) => [row.id, toOwned(row)]));
}

function seesNothing({ kinds }: GrantedPartner, owners: readonly (OwnedKinds | undefined)[]): boolean {
  const mayRequest = (kind: Kind): boolean => kinds?.includes(kind) ?? true;
  const [contracts, solicitations] = [mayRequest('contracts') || mayRequest('suppliers'), mayRequest('solicitations')];
  if (!contracts && !solicitations) return false;
  return !owners.some(
    (owner) => owner !== undefined && ((contracts && owner.contracts) || (solicitations && owner.solicitations)),
  );
}

const MAX_LISTED = 5;

/** Lead entities and coops in a sentence: `lead entity "le_a", coop "co_x"`. */
export function namedOwners(owners: OwnerIds): string {
  const named = listOwners(owners).map(({ owner, id }) => `${OWNERS[owner].label} "${id}"`);
  const more = named.length - MAX_LISTED;
  return named.slice(0, MAX_LISTED).join(', ') + (more > 0 ? ` and ${more} more` : '');
}
