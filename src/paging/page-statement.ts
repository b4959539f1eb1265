import { sql, type RawBuilder } from 'kysely';
import type { Engine } from '../database/database.ts';
import { joinedTexts, listedKeys, slot } from '../database/statement.ts';
import { seenEvents, type SeenEvents } from './events.ts';

/**
 * The texts of a page together, in bytes: what comes after is on the next page. A record that is larger, which only a
 * database that was filled before records were limited can hold, is a page of its own.
 */
export const MAX_PAGE_BYTES = 8 * 1024 * 1024;

/** How the records of a list are read and written out. */
export interface ListedRecords {
  /** The name of the table in `catalog`, and the alias that the expressions here call it by. */
  readonly table: string;
  readonly alias: string;
  /** The column by which records are found, which is indexed: their position in the index, or their key. */
  readonly found: { readonly column: string; readonly type: 'bigint' | 'text' };
  /** The column by which the list is ordered, and which a cursor names. */
  readonly key: string;
  /** The served text. May take the slot `now`. */
  readonly text: RawBuilder<string>;
  /** The size of what is stored of the text, in bytes; must be known without reading it. */
  readonly bytes: RawBuilder<number>;
  /** The next timestamp at which the text changes by itself, if it does. May take the slot `now`. */
  readonly changesAt?: RawBuilder<string | null>;
}

/** Records that the index finds. */
export const BY_POSITION: ListedRecords['found'] = { column: 'position', type: 'bigint' };

/** Records that are found by their key, and stored as they are shown. */
export function storedWhole(table: string, key: string): ListedRecords {
  const document = sql<string>`named.document`;
  return {
    ...{ table, alias: 'named', key, found: { column: key, type: 'text' } },
    ...{ text: document, bytes: sql<number>`octet_length(${document})` },
  };
}

/** The one row that the statement gives. */
export interface StatedPage extends SeenEvents {
  /** How many records the page has; none if their texts together have more bytes than the slot `bytes` says. */
  readonly shown: number;
  /** The texts, joined with commas. */
  readonly data: string | null;
  readonly last_key: string | null;
  readonly changes_at: string | null;
}

/**
 * The texts of the records in the slot `found`, in that order, with the events. One row: rows cost more on their way
 * than the texts in them. The sizes are added up first, so that no text is read that is not sent.
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
        from ${records} and (select sum(${bytes}) from ${records}) <= ${slot('bytes')}
        order by listed.place
      ) as shown
    ) as page`;
}

/** The sizes of the records in the slot `found`, in that order. */
export function sizesStatement(
  engine: Engine,
  { table, alias, found, bytes }: ListedRecords,
): RawBuilder<{ bytes: number }> {
  return sql<{ bytes: number }>`select ${bytes} as bytes from ${foundRecords(engine, { table, alias, found })}
    order by listed.place`;
}

/** Tables and condition. SQLite joins these in their order; left to choose, it read all of a table with a text as its key. */
function foundRecords(
  engine: Engine,
  { table, alias, found }: Pick<ListedRecords, 'table' | 'alias' | 'found'>,
): RawBuilder<unknown> {
  return sql`${listedKeys(engine, 'found', found.type, 'listed')} cross join ${sql.table(`catalog.${table}`)} as ${sql.ref(alias)}
        where ${sql.ref(`${alias}.${found.column}`)} = listed.value`;
}
