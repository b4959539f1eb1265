import { sql, type SqlBool } from 'kysely';
import type { Scope } from '../../access/scope.ts';
import type { Database } from '../../database/database.ts';
import { isOneOf } from '../../database/engine-sql.ts';
import type { PageWindow } from '../../paging/answer-list.ts';
import { allOf, anyOf, given, type Condition } from '../conditions.ts';

type NamedRefTable = 'catalog.lead_entities' | 'catalog.coops' | 'catalog.city_services';

/** One page of the lead entities that are granted or stand on a contract that the scope sees. */
export function selectLeadEntities(database: Database, scope: Scope, window: PageWindow) {
  const isSeen = isGrantedOrNamed(database, scope, 'lead_entity_id', scope.leadEntities, 'coop_id', scope.coops);
  return selectNamedRefs(database, 'catalog.lead_entities', isSeen, window);
}

/** One page of the coops that are granted or stand on a contract that the scope sees. */
export function selectCoops(database: Database, scope: Scope, window: PageWindow) {
  const isSeen = isGrantedOrNamed(database, scope, 'coop_id', scope.coops, 'lead_entity_id', scope.leadEntities);
  return selectNamedRefs(database, 'catalog.coops', isSeen, window);
}

/** One page of the city services, which every partner sees. */
export function selectCityServices(database: Database, _scope: Scope, window: PageWindow) {
  return selectNamedRefs(database, 'catalog.city_services', null, window);
}

/**
 * Granted itself, or named by a contract that is visible by the other kind of grant; null for
 * all. Looks the contracts up by the index on `column`.
 */
function isGrantedOrNamed(
  { engine }: Database,
  scope: Scope,
  column: string,
  granted: ReadonlyMap<string, string>,
  otherColumn: string,
  otherGranted: ReadonlyMap<string, string>,
): Condition | null {
  if (scope.everythingSince !== null) return null;
  return anyOf([
    isOneOf(engine, sql.ref('named.id'), [...granted.keys()]),
    sql<SqlBool>`exists (select 1 from catalog.contracts as contract
      where contract.${sql.ref(column)} = named.id
        and ${isOneOf(engine, sql.ref(`contract.${otherColumn}`), [...otherGranted.keys()])})`,
  ]);
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
