import { sql } from 'kysely';
import type { Scope } from '../../access/scope.ts';
import type { Database } from '../../database/database.ts';
import { slot } from '../../database/statement.ts';
import type { Condition } from '../../index/evaluate.ts';
import type { RecordQuery } from '../../paging/answer-record.ts';
import { BY_POSITION, type ListedRecords } from '../../paging/page-statement.ts';
import type { Since } from '../../paging/updated-since.ts';
import { hasValue, hasWords, isNewSince, isVisible } from '../conditions.ts';
import { withUpdatedAt } from '../finished-text.ts';
import { isGranted, scopeKey, scopeValues } from '../granted.ts';

export interface ContractFilters {
  q?: string;
  lead_entity?: string;
  coop?: string;
  supplier?: string;
  city_service?: string;
  updated_since?: string;
}

const text = withUpdatedAt(sql<string>`contract.document`, 'contract', 'changed_publication');

/** How contracts stand in a list. */
export const listedContracts: ListedRecords = {
  table: 'contracts',
  alias: 'contract',
  found: BY_POSITION,
  key: 'id',
  text,
  bytes: sql<number>`octet_length(contract.document)`,
  changesAt: sql<null>`null`,
};

/** The contracts that a list shows. */
export function contractConditions(scope: Scope, filters: ContractFilters, since: Since | null): Condition[] {
  const { q, lead_entity, coop, supplier, city_service } = filters;
  return [
    isVisible(scope, 'contracts'),
    ...(since === null ? [] : isNewSince(scope, 'contracts', since)),
    ...(q === undefined ? [] : hasWords(q)),
    ...(lead_entity === undefined ? [] : [hasValue('lead_entity', lead_entity)]),
    ...(coop === undefined ? [] : [hasValue('coop', coop)]),
    ...(supplier === undefined ? [] : [hasValue('supplier', supplier)]),
    ...(city_service === undefined ? [] : [hasValue('city_service', city_service)]),
  ];
}

/** The contract of this id, if the scope sees it. One look-up by the unique index on id. */
export function findContract({ engine }: Pick<Database, 'engine'>, scope: Scope, id: string): RecordQuery {
  const key = scopeKey(scope);
  return {
    shape: `contract, ${key}`,
    build: () => sql`select ${text} as text, null as changes_at
      from catalog.contracts as contract where contract.id = ${slot('id')}
        and ${isGranted(engine, key, { leadEntity: 'contract.lead_entity_id', coop: 'contract.coop_id' })}`,
    values: { ...scopeValues(scope), id },
  };
}
