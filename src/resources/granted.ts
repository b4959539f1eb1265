import { sql, type RawBuilder, type SqlBool } from 'kysely';
import type { Scope } from '../access/scope.ts';
import type { Engine, ParameterValues } from '../database/database.ts';
import { isInList, parameter } from '../database/statement.ts';

/*
 * The scope in detail statements, which do not use the index. Partners that see everything and partners with grants
 * have separate statements.
 */

/** Part of the statement key that tells the two apart. */
export function scopeKey({ everythingSince }: Scope): 'everything' | 'granted' {
  return everythingSince === null ? 'granted' : 'everything';
}

/** The parameters of the conditions below. */
export function scopeValues({ leadEntities, coops }: Scope): ParameterValues {
  return { lead_entities: [...leadEntities.keys()], coops: [...coops.keys()] };
}

const everyRecord = sql<SqlBool>`1 = 1`;

/** Whether a contract or solicitation belongs to a granted lead entity or coop. */
export function isGranted(
  engine: Engine,
  key: ReturnType<typeof scopeKey>,
  columns: { leadEntity: string; coop?: string },
): RawBuilder<SqlBool> {
  if (key === 'everything') return everyRecord;
  const ofLeadEntity = isInList(engine, sql.ref(columns.leadEntity), 'lead_entities');
  if (columns.coop === undefined) return ofLeadEntity;
  return sql<SqlBool>`(${ofLeadEntity} or ${isInList(engine, sql.ref(columns.coop), 'coops')})`;
}

/**
 * Whether a contract of a granted lead entity or coop names the supplier in the parameter `id`. Compares with the
 * parameter rather than the row's ID; otherwise PostgreSQL can collect all suppliers of all grants first.
 */
export function isGrantedSupplier(engine: Engine, key: ReturnType<typeof scopeKey>): RawBuilder<SqlBool> {
  if (key === 'everything') return everyRecord;
  return sql<SqlBool>`(
    exists (select 1 from catalog.supplier_lead_entities as path
      where path.supplier_id = ${parameter('id')} and ${isInList(engine, sql.ref('path.lead_entity_id'), 'lead_entities')})
    or exists (select 1 from catalog.supplier_coops as path
      where path.supplier_id = ${parameter('id')} and ${isInList(engine, sql.ref('path.coop_id'), 'coops')}))`;
}
