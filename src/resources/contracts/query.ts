import { sql, type SqlBool } from 'kysely';
import type { Scope } from '../../access/scope.ts';
import type { OpenDatabase } from '../../database/database.ts';
import { slot } from '../../database/statement.ts';
import type { RecordQuery } from '../../paging/answer-record.ts';
import type { WalkPlace } from '../../paging/answer-list.ts';
import type { ListedRecords, Walk } from '../../paging/snapshot.ts';
import type { SearchPlanner } from '../../search/search-plan.ts';
import { allOf, type Condition } from '../conditions.ts';
import { withUpdatedAt } from '../finished-text.ts';
import { walkRecords } from '../record-walk.ts';
import { shapeByPublications } from '../publications-since.ts';
import { isVisible, scopeValues, shapeOfScope } from '../scope-sql.ts';
import { walkScope } from '../scope-walk.ts';

export interface ContractFilters {
  q?: string;
  lead_entity?: string;
  coop?: string;
  supplier?: string;
  city_service?: string;
  updated_since?: string;
}

const CONTRACT = { table: 'contracts', alias: 'contract', hasCoop: true } as const;

const text = withUpdatedAt(sql<string>`contract.document`, 'contract', 'changed_publication');

/** How contracts stand in a list. */
export const listedContracts: ListedRecords = {
  table: sql`catalog.contracts as contract`,
  position: sql`contract.number`,
  key: sql<string>`contract.id`,
  text,
  changesAt: sql<null>`null`,
};

/**
 * One page of the contracts that the scope sees. Walks, in the order of numbers:
 * - for a scope, the indexes on lead entity or coop and number, once for each that is granted;
 * - for `updated_since`, the index on publication and number, once for each publication since;
 * - for `q`, what the search index gives, or the walk that there would be without it (`search-plan.ts`);
 * - else the index on the lead entity or coop that is asked for, or the primary key.
 */
export async function walkContracts(
  database: OpenDatabase,
  planner: SearchPlanner,
  scope: Scope,
  filters: ContractFilters,
  { after, isFresh }: WalkPlace,
): Promise<Walk> {
  const { engine } = database;
  const since = filters.updated_since ?? null;
  const scopeShape = await shapeByPublications(database, shapeOfScope(scope, since), since);
  const isOfOneOwner = filters.lead_entity !== undefined || filters.coop !== undefined;
  const isNarrow = !scopeShape.everything || isOfOneOwner || scopeShape.since !== 'all';
  const search = filters.q === undefined ? null : await planner.plan(filters.q, { isNarrow, isFresh });
  const shape = {
    ...scopeShape,
    isOfOneOwner,
    filters: Object.keys(filters).sort(),
    search: search?.mode ?? ('none' as const),
    hasAfter: after !== null,
  };
  return {
    shape: `contracts ${JSON.stringify(shape)}`,
    build: () => {
      const { conditions, each } = walkScope(engine, CONTRACT, shape);
      const { hasAfter, search: mode } = shape;
      const all = [...filterConditions(shape.filters), ...conditions];
      return walkRecords(engine, CONTRACT, { hasAfter, search: mode, conditions: all, each });
    },
    values: { ...filters, ...scopeValues(scope, since), ...search?.values, after },
    asOf: search?.asOf ?? null,
  };
}

/** The contract of this id, if the scope sees it. One look into the unique index on id. */
export function findContract({ engine }: OpenDatabase, scope: Scope, id: string): RecordQuery {
  const shape = shapeOfScope(scope, null);
  return {
    shape: `contract ${JSON.stringify(shape)}`,
    build: () => {
      const isIt = sql<SqlBool>`contract.id = ${slot('id')}`;
      return sql`select ${text} as text, null as changes_at
        from catalog.contracts as contract where ${allOf([isIt, isVisible(engine, shape, CONTRACT)])}`;
    },
    values: { ...scopeValues(scope, null), id },
  };
}

/** What the filters ask of a record, but for `q` and `updated_since`. */
function filterConditions(filters: readonly string[]): Condition[] {
  const conditions: Readonly<Record<string, Condition>> = {
    lead_entity: sql<SqlBool>`contract.lead_entity_id = ${slot('lead_entity')}`,
    coop: sql<SqlBool>`contract.coop_id = ${slot('coop')}`,
    supplier: sql<SqlBool>`exists (select 1 from catalog.contract_suppliers as named
      where named.supplier_id = ${slot('supplier')} and named.contract_id = contract.id)`,
    city_service: sql<SqlBool>`exists (select 1 from catalog.contract_city_services as named
      where named.city_service_id = ${slot('city_service')} and named.contract_id = contract.id)`,
  };
  return filters.flatMap((name) => conditions[name] ?? []);
}
