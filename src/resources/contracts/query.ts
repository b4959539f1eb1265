import { sql } from 'kysely';
import type { Scope } from '../../access/scope.ts';
import type { Database } from '../../database/database.ts';
import { parameter } from '../../database/statement.ts';
import type { RecordQuery } from '../../paging/send-record.ts';
import { BY_POSITION, type ListedRecords } from '../../paging/page-statement.ts';
import { withUpdatedAt } from '../finished-text.ts';
import { isGranted, scopeKey, scopeValues } from '../granted.ts';

const text = withUpdatedAt(sql<string>`contract.document`, 'contract', 'changed_publication');

/** Contracts as listed. */
export const listedContracts: ListedRecords = {
  table: 'contracts',
  alias: 'contract',
  found: BY_POSITION,
  key: 'id',
  text,
  bytes: sql<number>`octet_length(contract.document)`,
};

/** Finds a contract by ID within the scope. One lookup in the unique index on `id`. */
export function findContract({ engine }: Pick<Database, 'engine'>, scope: Scope, id: string): RecordQuery {
  const key = scopeKey(scope);
  return {
    statementKey: `contract, ${key}`,
    build: () => sql`select ${text} as text, null as changes_at
      from catalog.contracts as contract where contract.id = ${parameter('id')}
        and ${isGranted(engine, key, { leadEntity: 'contract.lead_entity_id', coop: 'contract.coop_id' })}`,
    values: { ...scopeValues(scope), id },
  };
}
