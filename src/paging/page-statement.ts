import { sql, type RawBuilder, type SqlBool } from 'kysely';
import type { Engine } from '../database/database.ts';
import { limitSlot, slot } from '../database/statement.ts';
import { seenEvents, type SeenEvents } from './events.ts';

/** How the records of a list are read and written out, the same for every page of it. */
export interface ListedRecords {
  /** The name of the table in `catalog`, and the alias that everything here calls it by. */
  readonly table: string;
  readonly alias: string;
  /** What a walk gives, and the list is ordered by: unique. */
  readonly position: RawBuilder<unknown>;
  /** What a cursor names: in the same order as the position. */
  readonly key: RawBuilder<string>;
  /** The served text. May take the slot `now`. */
  readonly text: RawBuilder<string>;
  /** The size of what is stored of the text, in bytes; must be known without reading it. */
  readonly bytes: RawBuilder<number>;
  /** The next instant at which the text changes by itself; null for never. May take the slot `now`. */
  readonly changesAt: RawBuilder<string | null>;
}

/**
 * The texts of a page together, in bytes: what comes after is on the next page. A record that is larger, which only a
 * database that was filled before records were limited can hold, is a page of its own.
 */
export const MAX_PAGE_BYTES = 8 * 1024 * 1024;

/** The one row that the statement gives. */
export interface StatedPage extends SeenEvents {
  /** Records that were found for the page: one more than it holds at most. */
  readonly walked: number;
  /** Those of them whose texts are in it. */
  readonly shown: number;
  readonly bytes: number;
  readonly data: string | null;
  readonly last_key: string | null;
  readonly changes_at: string | null;
}

/**
 * One row for the whole page: rows cost more on their way than the texts in them. Which records there is room for is
 * decided by their sizes alone, so that no text is read that is not sent: by one sum for an ordinary page, and by the sum up to
 * each record if that is too much. A window function took a third of the statement, for every page.
 */
export function pageStatement(
  engine: Engine,
  { table, alias, position, key, text, bytes, changesAt }: ListedRecords,
  walk: RawBuilder<{ position: unknown }>,
): RawBuilder<StatedPage> {
  const from = sql`${sql.table(`catalog.${table}`)} as ${sql.ref(alias)}`;
  const shown = sql`${position} as position, ${key} as key, ${text} as text, ${changesAt} as changes_at, ${bytes} as bytes`;
  /** Of the records from here on, those for which there is room. The first of a page is on it, however large. */
  const hasRoom = (records: RawBuilder<unknown>, at: RawBuilder<unknown>, first: RawBuilder<unknown>) => sql<SqlBool>`(
    (select sum(${bytes}) from ${records}) <= ${slot('bytes')}
    or (select sum(${bytes}) from ${records} and ${position} <= ${at}) <= ${slot('bytes')}
    or (${at} = ${first} and ${slot('bytes')} = ${sql.lit(MAX_PAGE_BYTES)}))`;
  const columns = sql`count(*) as shown, cast(coalesce(sum(shown.bytes), 0) as bigint) as bytes,
    max(shown.key) as last_key, min(shown.changes_at) as changes_at`;
  const found = sql`page.shown, page.bytes, page.data, page.last_key, page.changes_at`;
  if (engine === 'postgres') {
    // Looking up an array costs half of a join with as many rows.
    const records = sql`walked cross join ${from}
      where ${position} = any(walked.positions[1:(${limitSlot('limit')})::integer])`;
    const first = sql`(select positions[1] from walked)`;
    return sql<StatedPage>`with walked as materialized (select array(${walk}) as positions)
      select seen.*, (select cardinality(positions) from walked) as walked, ${found}
      from (${seenEvents}) as seen cross join (
        select string_agg(shown.text, ',' order by shown.position) as data, ${columns}
        from (
          select * from (select ${shown} from ${records}) as shown
          where ${hasRoom(records, sql.ref('shown.position'), first)}
        ) as shown
      ) as page`;
  }
  const records = sql`listed cross join ${from} where ${position} = listed.position`;
  // group_concat keeps the order of what it is given (SQLite leaves out no "order by" before it), and sorting the
  // texts once more takes a fifth of the statement.
  return sql<StatedPage>`with walked as materialized (${walk}),
    listed as materialized (select position from walked order by position limit ${limitSlot('limit')})
    select seen.*, (select count(*) from walked) as walked, ${found}
    from (${seenEvents}) as seen cross join (
      select group_concat(shown.text, ',') as data, ${columns}
      from (
        select ${shown} from listed as here cross join ${from}
        where ${position} = here.position
          and ${hasRoom(records, sql.ref('here.position'), sql`(select min(position) from listed)`)}
        order by here.position
      ) as shown
    ) as page`;
}
