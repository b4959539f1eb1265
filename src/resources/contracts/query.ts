import { sql, type SqlBool } from 'kysely';
import type { Scope } from '../../access/scope.ts';
import type { Engine, OpenDatabase } from '../../database/database.ts';
import { slot } from '../../database/statement.ts';
import type { RecordQuery } from '../../paging/answer-record.ts';
import type { WalkPlace } from '../../paging/answer-list.ts';
import type { ListedRecords } from '../../paging/page-statement.ts';
import type { Walk } from '../../paging/snapshot.ts';
import { coopMark, leadEntityMark } from '../../search/marks.ts';
import type { SearchPlanner } from '../../search/search-plan.ts';
import { allOf, isFound, type Condition } from '../conditions.ts';
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

const contractsOf = (engine: Engine): OwnedRecords => ({
  table: 'contracts',
  alias: 'contract',
  hasCoop: true,
  served: [],
  indexed: [['lead_entity'], ['coop']],
  filters: {
    lead_entity: sql<SqlBool>`contract.lead_entity_id = ${slot('lead_entity')}`,
    coop: sql<SqlBool>`contract.coop_id = ${slot('coop')}`,
    supplier: names(engine, 'contract_suppliers', 'supplier_id', 'supplier'),
    city_service: names(engine, 'contract_city_services', 'city_service_id', 'city_service'),
  },
});

/**
 * Whether a contract names what is asked for. PostgreSQL gathers the contracts that do once, as a set: joined, it went
 * through all of them again for each grant, which took 5 s for 9,400 contracts and 341 grants, and to look each contract up
 * takes three times as long. SQLite reads a list in parts, each of which would gather them again.
 */
function names(engine: Engine, table: string, column: string, filter: string): Condition {
  const from = sql`from ${sql.table(`catalog.${table}`)} as named where ${sql.ref(`named.${column}`)} = ${slot(filter)}`;
  return engine === 'postgres'
    ? sql<SqlBool>`(contract.id in (select named.contract_id ${from})) is true`
    : isFound(sql`select 1 ${from} and named.contract_id = contract.id`);
}

const text = withUpdatedAt(sql<string>`contract.document`, 'contract', 'changed_publication');

/** How contracts stand in a list. */
export const listedContracts: ListedRecords = {
  table: 'contracts',
  alias: 'contract',
  position: sql`contract.number`,
  key: sql<string>`contract.id`,
  text,
  bytes: sql<number>`octet_length(contract.document)`,
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
  return walkOwned(database, planner, contractsOf(database.engine), {
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
        from catalog.contracts as contract where ${allOf([isIt, isVisible(engine, shape, contractsOf(engine))])}`;
    },
    values: { ...scopeValues(scope, null), id },
  };
}
