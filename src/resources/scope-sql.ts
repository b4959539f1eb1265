import { sql, type RawBuilder, type SqlBool } from 'kysely';
import type { Scope } from '../access/scope.ts';
import type { Engine } from '../database/database.ts';
import { isOneOf } from '../database/engine-sql.ts';
import { anyOf, type Condition } from './conditions.ts';

/** Ids that were granted at this instant or later. */
function grantedSince(grants: ReadonlyMap<string, string>, since: string): string[] {
  return [...grants].filter(([, grantedAt]) => grantedAt >= since).map(([id]) => id);
}

/** Changed by the first publication at this instant or later, or by one after it. One look into the index on instants. */
function changedSince(alias: string, since: string): Condition {
  return sql<SqlBool>`${sql.ref(`${alias}.changed_publication`)} >= ${firstPublicationSince(since)}`;
}

function firstPublicationSince(since: string): RawBuilder<number> {
  return sql<number>`(select number from catalog.publications where instant >= ${since} order by instant limit 1)`;
}

/** The columns by which a row belongs to a lead entity and, for contracts, to a coop. */
export interface OwnedRow {
  alias: string;
  hasCoop: boolean;
}

/** What of a table whose rows belong to lead entities or coops the scope sees; null for all of it. */
export function isVisible(engine: Engine, scope: Scope, { alias, hasCoop }: OwnedRow): Condition | null {
  if (scope.everythingSince !== null) return null;
  return belongsToOneOf(engine, alias, [...scope.leadEntities.keys()], hasCoop ? [...scope.coops.keys()] : null);
}

/**
 * What changed or became visible since an instant; null where that is everything. A record
 * becomes visible with the grant of its lead entity or coop, or with that of everything.
 */
export function isNewSince(
  engine: Engine,
  scope: Scope,
  { alias, hasCoop }: OwnedRow,
  since: string,
): Condition | null {
  if (scope.everythingSince !== null && scope.everythingSince >= since) return null;
  const leadEntities = grantedSince(scope.leadEntities, since);
  const coops = hasCoop ? grantedSince(scope.coops, since) : [];
  const changed = changedSince(alias, since);
  if (leadEntities.length + coops.length === 0) return changed;
  return anyOf([changed, belongsToOneOf(engine, alias, leadEntities, hasCoop ? coops : null)]);
}

function belongsToOneOf(
  engine: Engine,
  alias: string,
  leadEntities: readonly string[],
  coops: readonly string[] | null,
): Condition {
  const ofLeadEntity = isOneOf(engine, sql.ref(`${alias}.lead_entity_id`), leadEntities);
  if (coops === null) return ofLeadEntity;
  return anyOf([ofLeadEntity, isOneOf(engine, sql.ref(`${alias}.coop_id`), coops)]);
}

/** A supplier is visible through the contracts of lead entities and coops that are granted. */
export function isVisibleSupplier(engine: Engine, scope: Scope): Condition | null {
  if (scope.everythingSince !== null) return null;
  return anyOf([
    sql<SqlBool>`exists (select 1 from catalog.supplier_lead_entities as path
      where path.supplier_id = supplier.id
        and ${isOneOf(engine, sql.ref('path.lead_entity_id'), [...scope.leadEntities.keys()])})`,
    sql<SqlBool>`exists (select 1 from catalog.supplier_coops as path
      where path.supplier_id = supplier.id
        and ${isOneOf(engine, sql.ref('path.coop_id'), [...scope.coops.keys()])})`,
  ]);
}

/**
 * Suppliers that changed or became visible since an instant: by a grant, or by a contract of
 * what was granted before that came to name them.
 */
export function isNewSupplierSince(engine: Engine, scope: Scope, since: string): Condition | null {
  if (scope.everythingSince !== null && scope.everythingSince >= since) return null;
  const changed = changedSince('supplier', since);
  if (scope.everythingSince !== null) return changed;
  const path = (table: string, column: string, grants: ReadonlyMap<string, string>): Condition => sql<SqlBool>`
    exists (select 1 from ${sql.table(`catalog.${table}`)} as path
      where path.supplier_id = supplier.id
        and ${isOneOf(engine, sql.ref(`path.${column}`), [...grants.keys()])}
        and (path.since_publication >= ${firstPublicationSince(since)}
          or ${isOneOf(engine, sql.ref(`path.${column}`), grantedSince(grants, since))}))`;
  return anyOf([
    changed,
    path('supplier_lead_entities', 'lead_entity_id', scope.leadEntities),
    path('supplier_coops', 'coop_id', scope.coops),
  ]);
}
