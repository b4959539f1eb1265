import { sql } from 'kysely';
import type { Scope } from '../access/scope.ts';
import { isVisible, scopeKey, scopeValues } from '../access/visibility/scope-sql.ts';
import type { Engine } from '../database/database.ts';
import { parameter } from '../database/statement.ts';
import type { IndexedKind } from '../kinds.ts';
import type { ListedRecords } from '../paging/pages.ts';
import type { RecordQuery } from '../paging/send.ts';

/** Finds a record's detail within the scope by a unique column. One lookup in the index on that column. */
export function findRecord(
  engine: Engine,
  kind: IndexedKind,
  details: ListedRecords,
  scope: Scope,
  id: string | number,
  column: 'id' | 'ref' = 'id',
): RecordQuery {
  const key = scopeKey(kind, scope);
  return {
    statementKey: `${kind} by ${column}, ${key}`,
    build: () => sql`select ${details.text} as text, ${details.changesAt ?? sql`null`} as changes_at
      from ${sql.table(`catalog.${kind}`)} as record
      where ${sql.ref(`record.${column}`)} = ${parameter('id')} and ${isVisible(engine, kind, key)}`,
    values: { ...scopeValues(scope), id },
  };
}
