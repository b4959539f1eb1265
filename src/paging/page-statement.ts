import { sql, type RawBuilder } from 'kysely';
import type { Engine } from '../database/database.ts';
import { joinedTexts, listedKeys, parameter } from '../database/statement.ts';
import { seenEvents, type SeenEvents } from './events.ts';

/**
 * Size limit of a page's texts in bytes; the remaining records go to the next page. A larger record gets a page of its
 * own. Only a database filled before record sizes were limited can contain one.
 */
export const MAX_PAGE_BYTES = 8 * 1024 * 1024;

/** How a list's records are read and served. */
export interface ListedRecords {
  /** The table in `catalog`, and its alias in the expressions here. */
  readonly table: string;
  readonly alias: string;
  /** The indexed column by which records are found: their position in the index, or their key. */
  readonly found: { readonly column: string; readonly type: 'bigint' | 'text' };
  /** The column that orders the list, and whose value cursors contain. */
  readonly key: string;
  /** The served text. Can use the parameter `now`. */
  readonly text: RawBuilder<string>;
  /** The stored size of the text in bytes. Must not require reading the text. */
  readonly bytes: RawBuilder<number>;
  /** When the text next changes by itself, if ever. Can use the parameter `now`. */
  readonly changesAt?: RawBuilder<string | null>;
}

/** Records found by the index. */
export const BY_POSITION: ListedRecords['found'] = { column: 'position', type: 'bigint' };

/** Records found by key and stored exactly as served. */
export function storedWhole(table: string, key: string): ListedRecords {
  const document = sql<string>`named.document`;
  return {
    ...{ table, alias: 'named', key, found: { column: key, type: 'text' } },
    ...{ text: document, bytes: sql<number>`octet_length(${document})` },
  };
}

/** The statement's single row. */
export interface StatedPage extends SeenEvents {
  /** Number of records on the page; 0 if their texts together exceed the parameter `bytes`. */
  readonly shown: number;
  /** The texts, comma-separated. */
  readonly data: string | null;
  readonly last_key: string | null;
  readonly changes_at: string | null;
}

/**
 * Reads the texts of the records in the parameter `found`, in that order, with the events. Returns a single row,
 * because transferring many rows costs more than the texts in them. Sizes are summed first, so that no text is read
 * without being sent.
 */
export function pageStatement(
  engine: Engine,
  { table, alias, found, key, text, bytes, changesAt = sql<null>`null` }: ListedRecords,
): RawBuilder<StatedPage> {
  const records = foundRecords(engine, { table, alias, found });
  return sql<StatedPage>`
    select seen.*, page.*
    from (${seenEvents}) as seen cross join (
      select count(*) as shown, ${joinedTexts(engine, 'shown.text', 'shown.place')} as data,
        max(shown.key) as last_key, min(shown.changes_at) as changes_at
      from (
        select listed.place, ${sql.ref(`${alias}.${key}`)} as key, ${text} as text, ${changesAt} as changes_at
        from ${records} and (select sum(${bytes}) from ${records}) <= ${parameter('bytes')}
        order by listed.place
      ) as shown
    ) as page`;
}

/** Reads the sizes of the records in the parameter `found`, in that order. */
export function sizesStatement(
  engine: Engine,
  { table, alias, found, bytes }: ListedRecords,
): RawBuilder<{ bytes: number }> {
  return sql<{ bytes: number }>`select ${bytes} as bytes from ${foundRecords(engine, { table, alias, found })}
    order by listed.place`;
}

/**
 * The FROM and WHERE clauses. The cross join makes SQLite join in this order; its own choice was to scan the whole
 * table if the key was text.
 */
function foundRecords(
  engine: Engine,
  { table, alias, found }: Pick<ListedRecords, 'table' | 'alias' | 'found'>,
): RawBuilder<unknown> {
  return sql`${listedKeys(engine, 'found', found.type, 'listed')} cross join ${sql.table(`catalog.${table}`)} as ${sql.ref(alias)}
        where ${sql.ref(`${alias}.${found.column}`)} = listed.value`;
}
