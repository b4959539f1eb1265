import { sql, type RawBuilder, type SqlBool } from 'kysely';
import type { Snapshot } from '../access/snapshot.ts';
import { isVisible, scopeKey, scopeValues } from '../access/visibility/scope-sql.ts';
import { parameter } from '../database/statement.ts';
import type { IndexedKind } from '../kinds.ts';
import type { ListedRecords } from '../paging/pages.ts';
import type { RecordQuery } from '../paging/send.ts';

/** Finds a record's detail within the scope by a unique column. One lookup in the index on that column. */
export function findRecord(
  { engine, scope }: Pick<Snapshot, 'engine' | 'scope'>,
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

/**
 * Completes the document of a stored `record` in SQL with the timestamp of its last update: its own, or a release's. The
 * document has no closing brace, since its `updated_at` can be the timestamp of a release that was not yet known when the
 * record was rendered, and `is_open` depends on the time.
 *
 * @param release the column with the number of the release that last updated it.
 * @param isOpen the value of `is_open`; null for records without it.
 */
export function withUpdatedAt(
  document: RawBuilder<string>,
  release: string,
  isOpen: RawBuilder<SqlBool> | null = null,
): RawBuilder<string> {
  // In parentheses, and as few pieces as possible: each concatenation copies everything before it.
  const updatedAt =
    isOpen === null
      ? sql`',"updated_at":"'`
      : sql`case when ${isOpen} then ',"is_open":true,"updated_at":"' else ',"is_open":false,"updated_at":"' end`;
  return sql<string>`${document} || (${updatedAt} || coalesce(record.updated_at,
    (select at from catalog.releases where number = ${sql.ref(`record.${release}`)})) || '"}')`;
}
