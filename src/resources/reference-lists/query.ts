import { sql, type RawBuilder, type SqlBool } from 'kysely';
import type { Scope } from '../../access/scope.ts';
import type { Engine, OpenDatabase } from '../../database/database.ts';
import { catalogState } from '../../database/revision.ts';
import { isInList, limitParameter, parameter } from '../../database/statement.ts';
import type { FoundRecords } from '../../index/record-index.ts';
import { scopeKey, scopeValues } from '../granted.ts';

export type NamedRefTable = 'lead_entities' | 'coops' | 'city_services';

interface NamedRefId {
  readonly catalog: string;
  readonly id: string | null;
}

/**
 * Finds the IDs on the next page of a reference list: lead entities or coops that are granted or named by a visible
 * contract, or all city services. Served by the primary key.
 */
export async function findNamedRefs(
  database: OpenDatabase,
  table: NamedRefTable,
  { scope, after, limit }: { scope: Scope; after: string | null; limit: number },
): Promise<FoundRecords> {
  const key = table === 'city_services' ? 'everything' : scopeKey(scope);
  const values = { ...scopeValues(scope), after: after ?? '', rows: limit + 1 };
  const rows = await database.run(`ids of ${table}, ${key}`, () => namedRefIds(database.engine, table, key), values);
  const ids = rows.flatMap(({ id }) => id ?? []);
  return { catalog: rows[0]?.catalog ?? '', positions: ids.slice(0, limit), hasMore: ids.length > limit };
}

/** The IDs after the parameter `after`; a single row without an ID if there are none. */
export function namedRefIds(
  engine: Engine,
  table: NamedRefTable,
  key: ReturnType<typeof scopeKey>,
): RawBuilder<NamedRefId> {
  return sql<NamedRefId>`
    select state.catalog, listed.id
    from (select ${catalogState} as catalog) as state
    left join (
      select named.id from ${sql.table(`catalog.${table}`)} as named
      where named.id > ${parameter('after')} and ${key === 'everything' ? sql`1 = 1` : isGrantedOrNamed(engine, table)}
      order by named.id limit ${limitParameter('rows')}
    ) as listed on 1 = 1
    order by listed.id`;
}

/**
 * Granted, or named by a contract that the other kind of grant makes visible: one lookup per granted entity of that
 * kind.
 */
function isGrantedOrNamed(engine: Engine, table: NamedRefTable): RawBuilder<SqlBool> {
  const [column, otherColumn, otherList] =
    table === 'coops' ? ['coop_id', 'lead_entity_id', 'lead_entities'] : ['lead_entity_id', 'coop_id', 'coops'];
  return sql<SqlBool>`(${isInList(engine, sql.ref('named.id'), table)}
    or exists (select 1 from catalog.contracts as contract
      where ${sql.ref(`contract.${column}`)} = named.id
        and ${isInList(engine, sql.ref(`contract.${otherColumn}`), otherList)}))`;
}
