import { sql, type SqlBool } from 'kysely';
import type { Scope } from '../../access/scope.ts';
import type { Database } from '../../database/database.ts';
import { isOneOf } from '../../database/engine-sql.ts';
import type { PageWindow } from '../../paging/answer-list.ts';
import { allOf, anyOf, given, type Condition } from '../conditions.ts';

type NamedRefTable = 'catalog.lead_entities' | 'catalog.coops' | 'catalog.city_services';

/** One page of the lead entities that are granted or stand on a contract that the scope sees. */
export function selectLeadEntities(database: Database, scope: Scope, window: PageWindow) {
  const { engine } = database;
  const granted = [...scope.leadEntities.keys()];
  const isSeen =
    scope.everythingSince !== null
      ? null
      : anyOf([
          isOneOf(engine, sql.ref('named.id'), granted),
          sql<SqlBool>`exists (select 1 from catalog.contracts as contract
            where contract.lead_entity_id = named.id
              and ${isOneOf(engine, sql.ref('contract.coop_id'), [...scope.coops.keys()])})`,
        ]);
  return selectNamedRefs(database, 'catalog.lead_entities', isSeen, window);
}

/** One page of the coops that are granted or stand on a contract that the scope sees. */
export function selectCoops(database: Database, scope: Scope, window: PageWindow) {
  const { engine } = database;
  const granted = [...scope.coops.keys()];
  const isSeen =
    scope.everythingSince !== null
      ? null
      : anyOf([
          isOneOf(engine, sql.ref('named.id'), granted),
          sql<SqlBool>`exists (select 1 from catalog.contracts as contract
            where contract.coop_id = named.id
              and ${isOneOf(engine, sql.ref('contract.lead_entity_id'), [...scope.leadEntities.keys()])})`,
        ]);
  return selectNamedRefs(database, 'catalog.coops', isSeen, window);
}

/** One page of the city services, which every partner sees. */
export function selectCityServices(database: Database, _scope: Scope, window: PageWindow) {
  return selectNamedRefs(database, 'catalog.city_services', null, window);
}

/** Walks the primary key. */
function selectNamedRefs({ kysely }: Database, table: NamedRefTable, isSeen: Condition | null, window: PageWindow) {
  return kysely
    .selectFrom(`${table} as named`)
    .select(['named.id as key', 'named.document'])
    .where(allOf([isSeen, given(window.after, (after) => sql<SqlBool>`named.id > ${after}`)]))
    .orderBy('named.id')
    .limit(window.rows);
}
