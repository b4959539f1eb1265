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
 * decided by their sizes alone, so that no text is read that is not sent.
 */
export function pageStatement(
  engine: Engine,
  { table, alias, position, key, text, bytes, changesAt }: ListedRecords,
  walk: RawBuilder<{ position: unknown }>,
): RawBuilder<StatedPage> {
  const from = sql`${sql.table(`catalog.${table}`)} as ${sql.ref(alias)}`;
  const shown = sql`${position} as position, ${key} as key, ${text} as text, ${changesAt} as changes_at`;
  // The first record of a page is on it, however large: of it alone the sizes up to it are its own.
  const hasRoom = (all: RawBuilder<unknown>, own: RawBuilder<unknown>): RawBuilder<SqlBool> =>
    sql<SqlBool>`(${all} <= ${slot('bytes')} or (${all} = ${own} and ${slot('bytes')} = ${sql.lit(MAX_PAGE_BYTES)}))`;
  const columns = sql`count(*) as shown, cast(coalesce(max(shown.up_to), 0) as bigint) as bytes,
    max(shown.key) as last_key, min(shown.changes_at) as changes_at`;
  const found = sql`page.shown, page.bytes, page.data, page.last_key, page.changes_at`;
  if (engine === 'postgres') {
    // Looking up an array costs half of a join with as many rows.
    const sized = sql`(select ${sql.ref(alias)}.*, sum(${bytes}) over (order by ${position}) as up_to, ${bytes} as own_bytes
      from walked cross join ${from} where ${position} = any(walked.positions[1:(${limitSlot('limit')})::integer]))`;
    return sql<StatedPage>`with walked as materialized (select array(${walk}) as positions)
      select seen.*, (select cardinality(positions) from walked) as walked, ${found}
      from (${seenEvents}) as seen cross join (
        select string_agg(shown.text, ',' order by shown.position) as data, ${columns}
        from (
          select ${shown}, ${sql.ref(`${alias}.up_to`)} from ${sized} as ${sql.ref(alias)}
          where ${hasRoom(sql.ref(`${alias}.up_to`), sql.ref(`${alias}.own_bytes`))}
        ) as shown
      ) as page`;
  }
  // The sizes are materialized since a window function would read what they are made of: 600 MB for a hundred records.
  // group_concat keeps the order of what it is given (SQLite leaves out no "order by" before it), and sorting the
  // texts once more takes a fifth of the statement.
  return sql<StatedPage>`with walked as materialized (${walk}),
    sizes as materialized (
      select walked.position, ${bytes} as own_bytes
      from (select position from walked order by position limit ${limitSlot('limit')}) as walked
      cross join ${from} where ${position} = walked.position
    ),
    sized as (select position, own_bytes, sum(own_bytes) over (order by position) as up_to from sizes)
    select seen.*, (select count(*) from walked) as walked, ${found}
    from (${seenEvents}) as seen cross join (
      select group_concat(shown.text, ',') as data, ${columns}
      from (
        select ${shown}, sized.up_to from sized
        cross join ${from} where ${position} = sized.position and ${hasRoom(sql.ref('sized.up_to'), sql.ref('sized.own_bytes'))}
        order by sized.position
      ) as shown
    ) as page`;
}
