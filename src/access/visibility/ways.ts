import { sql, type RawBuilder } from 'kysely';
import type { Database } from '../../database/database.ts';
import { TABLE_OF, type Kind } from '../../kinds.ts';
import { OWNERS, shownBy, type Owner, type Shown } from './rules.ts';

interface Way {
  readonly owner: Owner;
  readonly id: string;
  /** One of the owner's contracts that name the record, if these show it. */
  readonly contract: string | null;
  /** When the partner was granted the owner, or a contract first named the supplier if that was later; null if it was not. */
  readonly since: string | null;
}

/** All owners whose grants show a record, by id. Served by the indexes on its key and on the references to it. */
export async function findWays({ kysely }: Database, partnerId: number, kind: Kind, id: string): Promise<Way[]> {
  const ways = shownBy(kind).map(
    ([owner, shown]) => sql`select cast(${owner} as text) as owner, way.id, way.contract,
        case when way.named_at > granted.granted_at then way.named_at else granted.granted_at end as since
      from (${waysBy(kind, id, owner, shown)}) as way
      left join access.grants as granted
        on granted.partner_id = ${partnerId} and granted.kind = ${owner} and granted.resource_id = way.id`,
  );
  const { rows } = await sql<Way>`select * from (${sql.join(ways, sql` union all `)}) as ways order by id`.execute(
    kysely,
  );
  return rows;
}

/** The owners of one kind that show the record: `id`, `contract`, and `named_at` of a supplier. */
function waysBy(kind: Kind, id: string, owner: Owner, shown: Shown): RawBuilder<unknown> {
  const { column, table, suppliers } = OWNERS[owner];
  const ownerId = sql.ref(`record.${column}`);
  const none = sql`cast(null as text)`;
  if (shown === 'itself')
    return sql`select id, ${none} as contract, ${none} as named_at from ${sql.table(table)} where id = ${id}`;
  if (kind !== 'suppliers') {
    const self = shownBy(kind).find(([, records]) => records === 'itself')?.[0];
    const [from, key, contract] =
      self === undefined ? [TABLE_OF[kind], 'id', none] : ['contracts', OWNERS[self].column, sql`min(record.id)`];
    return sql`select ${ownerId} as id, ${contract} as contract, ${none} as named_at from ${sql.table(`catalog.${from}`)} as record
      where ${sql.ref(`record.${key}`)} = ${id} and ${ownerId} is not null group by 1`;
  }
  return sql`select ${ownerId} as id, min(record.id) as contract, min(published.at) as named_at
    from ${sql.table(suppliers)} as path
    left join catalog.releases as published on published.number = path.since_release
    join catalog.contract_suppliers as named on named.supplier_id = path.supplier_id
    join catalog.contracts as record on record.id = named.contract_id and ${ownerId} = ${sql.ref(`path.${column}`)}
    where path.supplier_id = ${id} group by 1`;
}
