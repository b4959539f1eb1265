import { sql, type SqlBool } from 'kysely';
import type { Scope } from '../access/scope.ts';
import type { Engine } from '../database/database.ts';
import { isInList, slot, type SlotValues } from '../database/statement.ts';
import { allOf, anyOf, type Condition } from './conditions.ts';

/**
 * How a scope, and an `updated_since`, shape a statement:
 * - `everything`: nothing is left out by the scope; otherwise lead entities and coops are granted one by one.
 * - `since`: nothing is left out by `updated_since`; records `changed` by a publication since; or those, and all that
 *   was `granted` since.
 */
export interface ScopeShape {
  readonly everything: boolean;
  readonly since: 'all' | 'changed' | 'granted';
}

/** The shape of a scope for a list; `since` is the `updated_since` of the request. */
export function shapeOfScope(scope: Scope, since: string | null): ScopeShape {
  const everything = scope.everythingSince !== null;
  if (since === null || (scope.everythingSince !== null && scope.everythingSince >= since)) {
    return { everything, since: 'all' };
  }
  const isNewlyGranted = [scope.leadEntities, scope.coops].some((grants) => grantedSince(grants, since).length > 0);
  return { everything, since: !everything && isNewlyGranted ? 'granted' : 'changed' };
}

/** The values of a scope for every statement that was built with its shape. */
export function scopeValues(scope: Scope, since: string | null): SlotValues {
  return {
    since,
    lead_entities: [...scope.leadEntities.keys()],
    coops: [...scope.coops.keys()],
    new_lead_entities: since === null ? [] : grantedSince(scope.leadEntities, since),
    new_coops: since === null ? [] : grantedSince(scope.coops, since),
  };
}

/** Ids that were granted at this instant or later. */
function grantedSince(grants: ReadonlyMap<string, string>, since: string): string[] {
  return [...grants].filter(([, grantedAt]) => grantedAt >= since).map(([id]) => id);
}

/** The first publication at the instant of `updated_since` or later; null before it. One look into the index on instants. */
export const firstPublicationSince = sql<number>`(select number from catalog.publications
  where instant >= ${slot('since')} order by instant limit 1)`;

function changedSince(alias: string): Condition {
  return sql<SqlBool>`${sql.ref(`${alias}.changed_publication`)} >= ${firstPublicationSince}`;
}

/** The columns by which a row belongs to a lead entity and, for contracts, to a coop. */
export interface OwnedRow {
  readonly alias: string;
  readonly hasCoop: boolean;
}

/** What of a table whose rows belong to lead entities or coops the scope sees; null for all of it. */
export function isVisible(engine: Engine, { everything }: ScopeShape, row: OwnedRow): Condition | null {
  return everything ? null : belongsToOneOf(engine, row, 'lead_entities', 'coops');
}

/**
 * What changed or became visible since an instant; null where that is everything. A record
 * becomes visible with the grant of its lead entity or coop, or with that of everything.
 */
export function isNewSince(engine: Engine, { since }: ScopeShape, row: OwnedRow): Condition | null {
  if (since === 'all') return null;
  const changed = changedSince(row.alias);
  return since === 'changed'
    ? changed
    : anyOf([changed, belongsToOneOf(engine, row, 'new_lead_entities', 'new_coops')]);
}

function belongsToOneOf(engine: Engine, { alias, hasCoop }: OwnedRow, leadEntities: string, coops: string): Condition {
  const ofLeadEntity = isInList(engine, sql.ref(`${alias}.lead_entity_id`), leadEntities);
  return hasCoop ? anyOf([ofLeadEntity, isInList(engine, sql.ref(`${alias}.coop_id`), coops)]) : ofLeadEntity;
}

/** A supplier is visible through the contracts of lead entities and coops that are granted. */
export function isVisibleSupplier(engine: Engine, { everything }: ScopeShape): Condition | null {
  if (everything) return null;
  const path = (table: string, column: string, list: string): Condition => sql<SqlBool>`
    exists (select 1 from ${sql.table(`catalog.${table}`)} as path
      where path.supplier_id = supplier.id and ${isInList(engine, sql.ref(`path.${column}`), list)})`;
  return anyOf([
    path('supplier_lead_entities', 'lead_entity_id', 'lead_entities'),
    path('supplier_coops', 'coop_id', 'coops'),
  ]);
}

/**
 * Suppliers that changed or became visible since an instant: by a grant, or by a contract of
 * what was granted before that came to name them.
 */
export function isNewSupplierSince(engine: Engine, { everything, since }: ScopeShape): Condition | null {
  if (since === 'all') return null;
  const changed = changedSince('supplier');
  if (everything) return changed;
  // "is true" leaves PostgreSQL the primary key alone, which gives the few paths of one supplier: it would else look each
  // grant up for each supplier, and with 341 of them a page took 3 s.
  const path = (table: string, column: string, granted: string, newlyGranted: string): Condition => sql<SqlBool>`
    exists (select 1 from ${sql.table(`catalog.${table}`)} as path
      where path.supplier_id = supplier.id and ${anyOf([
        allOf([
          sql<SqlBool>`path.since_publication >= ${firstPublicationSince}`,
          isInList(engine, sql.ref(`path.${column}`), granted),
        ]),
        isInList(engine, sql.ref(`path.${column}`), newlyGranted),
      ])} is true)`;
  return anyOf([
    changed,
    path('supplier_lead_entities', 'lead_entity_id', 'lead_entities', 'new_lead_entities'),
    path('supplier_coops', 'coop_id', 'coops', 'new_coops'),
  ]);
}
