import type { IndexedKind } from '../../kinds.ts';
import type { Scope } from '../scope.ts';
import {
  hasDrafts,
  isDraft,
  OWNER_KINDS,
  OWNERS,
  shownBy,
  type ByOwner,
  type GrantsName,
  type Owner,
} from './rules.ts';

export function byOwner<T>(valueOf: (owner: Owner, grants: GrantsName) => T): ByOwner<T> {
  return Object.fromEntries(
    OWNER_KINDS.map((owner) => [OWNERS[owner].grants, valueOf(owner, OWNERS[owner].grants)]),
  ) as ByOwner<T>;
}

/** The same with promises, one after the other. */
export async function awaitByOwner<T>(valueOf: (owner: Owner, grants: GrantsName) => Promise<T>): Promise<ByOwner<T>> {
  const values = new Map<Owner, T>();
  for (const owner of OWNER_KINDS) values.set(owner, await valueOf(owner, OWNERS[owner].grants));
  return byOwner((owner) => values.get(owner) as T);
}

export type OwnerIds = ByOwner<readonly string[]>;

export function listOwners(ids: OwnerIds): { owner: Owner; id: string }[] {
  return OWNER_KINDS.flatMap((owner) => ids[OWNERS[owner].grants].map((id) => ({ owner, id })));
}

/** The owners that a scope was granted one by one. */
export function grantedOwners(scope: Scope, owners: readonly Owner[] = OWNER_KINDS) {
  return owners.flatMap((owner) =>
    Array.from(scope[OWNERS[owner].grants], ([id, grantedAt]) => ({ owner, id, grantedAt })),
  );
}

/** Whether a scope has all that another was granted, so that it shows all that the other shows. */
export function includesScope(scope: Scope, other: Scope): boolean {
  if (scope === other || scope.everythingSince !== null) return true;
  return (
    other.everythingSince === null && grantedOwners(other).every(({ owner, id }) => scope[OWNERS[owner].grants].has(id))
  );
}

/** The owner of every record, for partners that are granted everything, as departures store it. */
export const EVERYTHING = 'everything';

/** An owner as departures store it. */
export function ownerKey(owner: Owner, id: string): string {
  return `${owner}:${id}`;
}

/** The columns of a row that decide who sees it. */
export interface OwnedRow {
  readonly id: string;
  readonly lead_entity_id?: string;
  readonly coop_id?: string | null;
  readonly status?: string;
}

/** The columns of {@link OwnedRow} that the rows of a kind have. */
export function ownerColumns(kind: IndexedKind): (keyof OwnedRow)[] {
  return [
    'id',
    ...ownOwners(kind).map((owner) => OWNERS[owner].column),
    ...(hasDrafts(kind) ? ['status' as const] : []),
  ];
}

/**
 * The owners that a row has itself, as departures store them; none if it is a draft. Suppliers have only
 * {@link EVERYTHING}: the tables in `OWNERS` have the others.
 */
export function ownersOf(kind: IndexedKind, row: OwnedRow): Set<string> {
  if (isDraft(row)) return new Set();
  const owners = ownOwners(kind).flatMap((owner) => {
    const id = row[OWNERS[owner].column] ?? null;
    return id === null ? [] : [ownerKey(owner, id)];
  });
  return new Set([EVERYTHING, ...owners]);
}

/** The owners whose ids are in columns of a kind, and whose grants show their records. */
function ownOwners(kind: IndexedKind): Owner[] {
  return shownBy(kind).flatMap(([owner, records]) => (records === 'own' ? [owner] : []));
}
