import { sql, type SqlBool } from 'kysely';
import type { Scope } from '../../access/scope.ts';
import type { OpenDatabase } from '../../database/database.ts';
import { slot } from '../../database/statement.ts';
import type { RecordQuery } from '../../paging/answer-record.ts';
import type { WalkPlace } from '../../paging/answer-list.ts';
import type { ListedRecords, Walk } from '../../paging/snapshot.ts';
import { coopMark, leadEntityMark } from '../../search/marks.ts';
import type { SearchPlanner } from '../../search/search-plan.ts';
import { allOf } from '../conditions.ts';
import { withUpdatedAt } from '../finished-text.ts';
import { walkOwned, type OwnedRecords } from '../owned-records.ts';
import { isVisible, scopeValues, shapeOfScope } from '../scope-sql.ts';

export interface ContractFilters {
  q?: string;
  lead_entity?: string;
  coop?: string;
  supplier?: string;
  city_service?: string;
  updated_since?: string;
}

const CONTRACTS: OwnedRecords = {
  table: 'contracts',
  alias: 'contract',
  hasCoop: true,
  served: [],
  indexed: [['lead_entity'], ['coop']],
  filters: {
    lead_entity: sql<SqlBool>`contract.lead_entity_id = ${slot('lead_entity')}`,
    coop: sql<SqlBool>`contract.coop_id = ${slot('coop')}`,
    supplier: sql<SqlBool>`exists (select 1 from catalog.contract_suppliers as named
      where named.supplier_id = ${slot('supplier')} and named.contract_id = contract.id)`,
    city_service: sql<SqlBool>`exists (select 1 from catalog.contract_city_services as named
      where named.city_service_id = ${slot('city_service')} and named.contract_id = contract.id)`,
  },
};

const text = withUpdatedAt(sql<string>`contract.document`, 'contract', 'changed_publication');

/** How contracts stand in a list. */
export const listedContracts: ListedRecords = {
  table: sql`catalog.contracts as contract`,
  position: sql`contract.number`,
  key: sql<string>`contract.id`,
  text,
  changesAt: sql<null>`null`,
};

/** One page of the contracts that the scope sees; `owned-records.ts` says what it walks. */
export function walkContracts(
  database: OpenDatabase,
  planner: SearchPlanner,
  scope: Scope,
  filters: ContractFilters,
  place: WalkPlace,
): Promise<Walk> {
  const { lead_entity, coop } = filters;
  const marks = [];
  if (lead_entity !== undefined) marks.push([leadEntityMark(lead_entity)]);
  if (coop !== undefined) marks.push([coopMark(coop)]);
  return walkOwned(database, planner, CONTRACTS, {
    scope,
    filters: { ...filters },
    known: { marks, window: null },
    place,
  });
}

/** The contract of this id, if the scope sees it. One look into the unique index on id. */
export function findContract({ engine }: OpenDatabase, scope: Scope, id: string): RecordQuery {
  const shape = shapeOfScope(scope, null);
  return {
    shape: `contract ${JSON.stringify(shape)}`,
    build: () => {
      const isIt = sql<SqlBool>`contract.id = ${slot('id')}`;
      return sql`select ${text} as text, null as changes_at
        from catalog.contracts as contract where ${allOf([isIt, isVisible(engine, shape, CONTRACTS)])}`;
    },
    values: { ...scopeValues(scope, null), id },
  };
}
