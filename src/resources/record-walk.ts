import { sql, type Expression, type RawBuilder, type SqlBool } from 'kysely';
import type { Engine } from '../database/database.ts';
import { limitSlot, slot } from '../database/statement.ts';
import { holdsWords, matchedNumbers } from '../search/search-index.ts';
import type { SearchMode } from '../search/search-plan.ts';
import { allOf, type Condition } from './conditions.ts';
import { firstPublicationSince } from './scope-sql.ts';
import { eachMerged, unionOf, type Positions } from './walks.ts';

/** A table whose records are listed in the order of their numbers, which is that of their ids. */
export interface NumberedTable {
  readonly table: 'contracts' | 'suppliers' | 'solicitations';
  readonly alias: string;
}

/** One ordered walk for each of some values: lead entities that are granted, publications since an instant. */
export interface EachWalk {
  readonly values: RawBuilder<{ value: unknown }>;
  /** The column that has the value; the index on it goes on with the number. */
  readonly column: string;
  /** What holds for the records of these walks besides. */
  readonly conditions: readonly (Condition | null)[];
}

/** What decides the text of a walk. */
export interface RecordWalk {
  readonly hasAfter: boolean;
  readonly search: SearchMode | 'none';
  /** What holds for all records. */
  readonly conditions: readonly (Condition | null)[];
  /** Ordered walks to merge; none for one walk over the table, or for one that begins with the search index. */
  readonly each: readonly EachWalk[];
}

/** Below every number. */
const BEFORE_ALL = sql.lit(Number.MIN_SAFE_INTEGER);

/** The numbers of the records that are listed: ordered, as many as the slot `rows` says. */
export function walkRecords(
  engine: Engine,
  { table, alias }: NumberedTable,
  { hasAfter, search, conditions, each }: RecordWalk,
): Positions {
  if (search === 'nothing')
    return sql<{ position: unknown }>`select number as position from catalog.publications where 1 = 0`;
  const from = sql`${sql.table(`catalog.${table}`)} as ${sql.ref(alias)}`;
  const number = sql.ref(`${alias}.number`);
  const isAfter = (column: Expression<unknown>): Condition | null =>
    hasAfter ? sql<SqlBool>`${column} > ${afterNumber(table)}` : null;
  if (search === 'index') {
    const found = sql.ref('found.number');
    return sql<{ position: unknown }>`select ${found} as position
      from ${matchedNumbers(engine, table)} as found cross join ${from}
      where ${allOf([sql<SqlBool>`${number} = ${found}`, isAfter(found), ...conditions])}
      order by ${found} limit ${limitSlot('rows')}`;
  }
  const walk = (more: readonly (Condition | null)[]): Positions => sql<{ position: unknown }>`
    select ${number} as position from ${from}
    where ${allOf([
      isAfter(number),
      ...conditions,
      ...more,
      search === 'check' ? holdsWords(engine, table, number) : null,
    ])}
    order by ${number} limit ${limitSlot('rows')}`;
  if (each.length === 0) return walk([]);
  return unionOf(
    each.map(({ values, column, conditions: more }) =>
      eachMerged(engine, values, (value) => walk([sql<SqlBool>`${sql.ref(`${alias}.${column}`)} = ${value}`, ...more])),
    ),
  );
}

/** How many records match: `total`. */
export function countRecords(
  engine: Engine,
  { table, alias }: NumberedTable,
  search: SearchMode | 'none',
  conditions: readonly (Condition | null)[],
): RawBuilder<{ total: number }> {
  if (search === 'nothing') return sql<{ total: number }>`select 0 as total`;
  const from = sql`${sql.table(`catalog.${table}`)} as ${sql.ref(alias)}`;
  const number = sql.ref(`${alias}.number`);
  return search === 'index'
    ? sql<{ total: number }>`select count(*) as total from ${matchedNumbers(engine, table)} as found cross join ${from}
        where ${allOf([sql<SqlBool>`${number} = found.number`, ...conditions])}`
    : sql<{ total: number }>`select count(*) as total from ${from}
        where ${allOf([...conditions, search === 'check' ? holdsWords(engine, table, number) : null])}`;
}

/** The number to go on behind: that of the last record whose id is not after the slot `after`, which may be gone. */
function afterNumber(table: string): RawBuilder<number> {
  return sql<number>`coalesce((select number from ${sql.table(`catalog.${table}`)}
    where id <= ${slot('after')} order by id desc limit 1), ${BEFORE_ALL})`;
}

/** Publications since the slot `since`, one value each. */
export const publicationsSince = sql<{ value: number }>`select number as value from catalog.publications
  where number >= ${firstPublicationSince}`;
