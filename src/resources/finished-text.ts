import { sql, type RawBuilder, type SqlBool } from 'kysely';

/**
 * Finished JSON text is stored without its closing brace where something is added when it is
 * read: `is_open`, and `updated_at`, which may be the instant of a publication that was not
 * yet known when the record was rendered.
 */
export function withoutClosingBrace(json: string): string {
  return json.slice(0, -1);
}

/**
 * Closes a stored document with the instant of its last update, in SQL: what the record brought
 * with it, or the instant of a publication.
 *
 * @param publication the column with the number of the publication that last updated it.
 * @param isOpen what `is_open` says; null for a record without it.
 */
export function withUpdatedAt(
  document: RawBuilder<string>,
  alias: string,
  publication: string,
  isOpen: RawBuilder<SqlBool> | null = null,
): RawBuilder<string> {
  // As few pieces as can be: each is a copy of all before it.
  const updatedAt =
    isOpen === null
      ? sql`',"updated_at":"'`
      : sql`case when ${isOpen} then ',"is_open":true,"updated_at":"' else ',"is_open":false,"updated_at":"' end`;
  return sql<string>`${document} || ${updatedAt} || coalesce(${sql.ref(`${alias}.updated_at`)},
    (select instant from catalog.publications where number = ${sql.ref(`${alias}.${publication}`)})) || '"}'`;
}
