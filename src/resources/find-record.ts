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
  { engine, scope }: { readonly engine: Engine; readonly scope: Scope },
  kind: IndexedKind,
  { key, text, changesAt }: ListedRecords,
  id: string | number,
  column: 'id' | 'ref' = 'id',
): RecordQuery {
  const shown = scopeKey(kind, scope);
  return {
    statementKey: `${kind} by ${column}, ${shown}`,
    build: () => ({
      texts: sql`select 0 as ordinal, ${sql.ref(`record.${key}`)} as key, ${text} as text,
          ${changesAt ?? sql`cast(null as text)`} as changes_at
        from ${sql.table(`catalog.${kind}`)} as record
        where ${sql.ref(`record.${column}`)} = ${parameter('id')} and ${isVisible(engine, kind, shown)}`,
      isInOrder: true,
    }),
    values: { ...scopeValues(scope), id },
  };
}
