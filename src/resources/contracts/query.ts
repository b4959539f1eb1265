import { sql, type SqlBool } from 'kysely';
import type { Scope } from '../../access/scope.ts';
import type { Database } from '../../database/database.ts';
import type { PageWindow } from '../../paging/answer-list.ts';
import { holdsWords } from '../../search/search-index.ts';
import { queryWords } from '../../search/words.ts';
import { allOf, given } from '../conditions.ts';
import { isNewSince, isVisible } from '../scope-sql.ts';

export interface ContractFilters {
  q?: string;
  lead_entity?: string;
  coop?: string;
  supplier?: string;
  city_service?: string;
  updated_since?: string;
}

const CONTRACT = { alias: 'contract', hasCoop: true };

/**
 * One page of the contracts that the scope sees. Walks the unique index on id; with a filter
 * on lead entity or coop, its index, which is ordered by id too.
 */
export function selectContracts(database: Database, scope: Scope, filters: ContractFilters, window: PageWindow) {
  const { engine } = database;
  return visibleContracts(database, scope)
    .where(
      allOf([
        given(window.after, (after) => sql<SqlBool>`contract.id > ${after}`),
        given(filters.q, (q) => holdsWords(engine, 'contracts', sql.ref('contract.number'), queryWords(q))),
        given(filters.lead_entity, (id) => sql<SqlBool>`contract.lead_entity_id = ${id}`),
        given(filters.coop, (id) => sql<SqlBool>`contract.coop_id = ${id}`),
        given(
          filters.supplier,
          (id) => sql<SqlBool>`exists (select 1 from catalog.contract_suppliers as named
            where named.supplier_id = ${id} and named.contract_id = contract.id)`,
        ),
        given(
          filters.city_service,
          (id) => sql<SqlBool>`exists (select 1 from catalog.contract_city_services as named
            where named.city_service_id = ${id} and named.contract_id = contract.id)`,
        ),
        given(filters.updated_since, (since) => isNewSince(engine, scope, CONTRACT, since)),
      ]),
    )
    .orderBy('contract.id')
    .limit(window.rows);
}

/** The contract of this id, if the scope sees it. One look into the unique index on id. */
export async function findContract(database: Database, scope: Scope, id: string) {
  return (await visibleContracts(database, scope).where('contract.id', '=', id).executeTakeFirst()) ?? null;
}

function visibleContracts({ engine, kysely }: Database, scope: Scope) {
  return kysely
    .selectFrom('catalog.contracts as contract')
    .select(['contract.id as key', 'contract.document'])
    .select(
      sql<string>`coalesce(contract.updated_at,
        (select instant from catalog.publications where number = contract.changed_publication))`.as('updated_at'),
    )
    .where(allOf([isVisible(engine, scope, CONTRACT)]));
}
