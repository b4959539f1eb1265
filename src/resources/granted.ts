import { sql, type RawBuilder, type SqlBool } from 'kysely';
import type { Scope } from '../access/scope.ts';
import type { Engine, ParameterValues } from '../database/database.ts';
import { isInList, parameter } from '../database/statement.ts';
import type { IndexedKind } from '../kinds.ts';
import type { ListedRecords } from '../paging/pages.ts';
import type { RecordQuery } from '../paging/send.ts';

/* The scope in detail statements, which do not use the index. */

/** Part of the statement key: partners that see everything and partners with grants have separate statements. */
export function scopeKey({ everythingSince }: Scope): 'everything' | 'granted' {
  return everythingSince === null ? 'granted' : 'everything';
}

/** The parameters of the conditions below. */
export function scopeValues({ leadEntities, coops }: Scope): ParameterValues {
  return { lead_entities: [...leadEntities.keys()], coops: [...coops.keys()] };
}

/** Whether the scope includes the `record` of a kind. No scope includes drafts. */
export function isVisible(engine: Engine, kind: IndexedKind, key: ReturnType<typeof scopeKey>): RawBuilder<SqlBool> {
  const isServed = sql<SqlBool>`record.status <> 'draft'`;
  if (key === 'everything') return kind === 'solicitations' ? isServed : sql<SqlBool>`1 = 1`;
  const ofLeadEntity = isInList(engine, sql.ref('record.lead_entity_id'), 'lead_entities');
  switch (kind) {
    case 'suppliers':
      return isNamed(engine);
    case 'contracts':
      return sql<SqlBool>`(${ofLeadEntity} or ${isInList(engine, sql.ref('record.coop_id'), 'coops')})`;
    case 'solicitations':
      return sql<SqlBool>`${isServed} and ${ofLeadEntity}`;
  }
}

/**
 * Whether a contract of a granted lead entity or coop names the supplier in the parameter `id`. Compares with the
 * parameter rather than the row's ID; otherwise PostgreSQL can collect all suppliers of all grants first.
 */
function isNamed(engine: Engine): RawBuilder<SqlBool> {
  return sql<SqlBool>`(
    exists (select 1 from catalog.supplier_lead_entities as path
      where path.supplier_id = ${parameter('id')} and ${isInList(engine, sql.ref('path.lead_entity_id'), 'lead_entities')})
    or exists (select 1 from catalog.supplier_coops as path
      where path.supplier_id = ${parameter('id')} and ${isInList(engine, sql.ref('path.coop_id'), 'coops')}))`;
}

/** Finds a record's detail within the scope by a unique column. One lookup in the index on that column. */
export function findRecord(
  engine: Engine,
  kind: IndexedKind,
  details: ListedRecords,
  scope: Scope,
  id: string | number,
  column: 'id' | 'ref' = 'id',
): RecordQuery {
  const key = scopeKey(scope);
  return {
    statementKey: `${kind} by ${column}, ${key}`,
    build: () => sql`select ${details.text} as text, ${details.changesAt ?? sql`null`} as changes_at
      from ${sql.table(`catalog.${kind}`)} as record
      where ${sql.ref(`record.${column}`)} = ${parameter('id')} and ${isVisible(engine, kind, key)}`,
    values: { ...scopeValues(scope), id },
  };
}
