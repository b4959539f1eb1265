import { sql, type RawBuilder, type SqlBool } from 'kysely';

/**
 * Rendered JSON is stored without its closing brace if fields are added on read: `is_open`, and `updated_at`, which can
 * be the timestamp of a release that was not yet known when the record was rendered.
 */
export function withoutClosingBrace(json: string): string {
  return json.slice(0, -1);
}

/**
 * Completes the document of a stored `record` in SQL with the timestamp of its last update: its own, or a release's.
 *
 * @param release the column with the number of the release that last updated it.
 * @param isOpen the value of `is_open`; null for records without it.
 */
export function withUpdatedAt(
  document: RawBuilder<string>,
  release: string,
  isOpen: RawBuilder<SqlBool> | null = null,
): RawBuilder<string> {
  // As few pieces as possible: each concatenation copies everything before it.
  const updatedAt =
    isOpen === null
      ? sql`',"updated_at":"'`
      : sql`case when ${isOpen} then ',"is_open":true,"updated_at":"' else ',"is_open":false,"updated_at":"' end`;
  return sql<string>`${document} || ${updatedAt} || coalesce(record.updated_at,
    (select instant from catalog.publications where number = ${sql.ref(`record.${release}`)})) || '"}'`;
}
