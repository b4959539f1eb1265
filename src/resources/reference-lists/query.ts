import { sql, type SqlBool } from 'kysely';
import type { Scope } from '../../access/scope.ts';
import type { Engine, OpenDatabase } from '../../database/database.ts';
import { isInList, limitSlot, slot } from '../../database/statement.ts';
import type { WalkPlace } from '../../paging/answer-list.ts';
import type { ListedRecords } from '../../paging/page-statement.ts';
import type { Walk } from '../../paging/snapshot.ts';
import { allOf, anyOf, type Condition } from '../conditions.ts';
import { scopeValues } from '../scope-sql.ts';

type NamedRefTable = 'lead_entities' | 'coops' | 'city_services';

/** How the records of a reference list stand in it. */
export function listedNamedRefs(table: NamedRefTable): ListedRecords {
  return {
    table,
    alias: 'named',
    position: sql`named.id`,
    key: sql<string>`named.id`,
    text: sql<string>`named.document`,
    bytes: sql<number>`octet_length(named.document)`,
    changesAt: sql<null>`null`,
  };
}

/**
 * One page of a reference list: the lead entities, or coops, that are granted or stand on a
 * contract that the scope sees; all city services. Walks the primary key.
 */
export function walkNamedRefs(
  { engine }: OpenDatabase,
  table: NamedRefTable,
  scope: Scope,
  { after }: WalkPlace,
): Walk {
  const hasAfter = after !== null;
  const isWhole = table === 'city_services' || scope.everythingSince !== null;
  return {
    shape: `${table} ${JSON.stringify({ hasAfter, isWhole })}`,
    build: () => sql`select named.id as position from ${sql.table(`catalog.${table}`)} as named
      where ${allOf([
        isWhole ? null : isGrantedOrNamed(engine, table),
        hasAfter ? sql<SqlBool>`named.id > ${slot('after')}` : null,
      ])}
      order by named.id limit ${limitSlot('rows')}`,
    values: { ...scopeValues(scope, null), after },
    asOf: [],
    upto: null,
  };
}

/**
 * Granted itself, or named by a contract that is visible by the other kind of grant. Looks the
 * contracts up by the index on the column that names it.
 */
function isGrantedOrNamed(engine: Engine, table: NamedRefTable): Condition {
  const [column, otherColumn, otherList] =
    table === 'coops' ? ['coop_id', 'lead_entity_id', 'lead_entities'] : ['lead_entity_id', 'coop_id', 'coops'];
  return anyOf([
    isInList(engine, sql.ref('named.id'), table),
    sql<SqlBool>`exists (select 1 from catalog.contracts as contract
      where ${sql.ref(`contract.${column}`)} = named.id
        and ${isInList(engine, sql.ref(`contract.${otherColumn}`), otherList)})`,
  ]);
}
