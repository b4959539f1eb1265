import { sql, type Expression, type RawBuilder, type SqlBool } from 'kysely';
import type { Engine } from '../database/database.ts';
import { limitSlot, slot } from '../database/statement.ts';
import {
  allMatches,
  countMatches,
  holdsWords,
  matchedNumbers,
  matchingEntry,
  type NumberBounds,
} from '../search/search-index.ts';
import type { SearchMode } from '../search/search-plan.ts';
import { allOf, isFound, type Condition } from './conditions.ts';
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

/** What of a list is looked at: behind the slot `after`, up to the slot `upto`. */
export interface PartShape {
  readonly hasAfter: boolean;
  readonly hasUpto: boolean;
}

/** What decides the text of a walk. */
export interface RecordWalk extends PartShape {
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
  { search, conditions, each, ...part }: RecordWalk,
): Positions {
  if (search === 'nothing')
    return sql<{ position: unknown }>`select number as position from catalog.publications where 1 = 0`;
  const from = sql`${sql.table(`catalog.${table}`)} as ${sql.ref(alias)}`;
  const number = sql.ref(`${alias}.number`);
  const isInPart = partOf(table, part);
  if (search === 'index') {
    const found = sql.ref('found.number');
    return sql<{ position: unknown }>`select ${found} as position
      from ${matchedNumbers(engine, table, isInPart)} as found
      where ${allOf([...(engine === 'postgres' ? isInPart(found) : []), recordOf({ table, alias }, found, conditions)])}
      order by ${found} limit ${limitSlot('rows')}`;
  }
  if (search === 'entries') {
    const entry = sql.ref('entry.number');
    return sql<{ position: unknown }>`select ${entry} as position
      from ${sql.table(`catalog.${table}_search`)} as entry cross join ${from}
      where ${allOf([matchingEntry('entry'), ...isInPart(entry), sql<SqlBool>`${number} = ${entry}`, ...conditions])}
      order by ${entry} limit ${limitSlot('rows')}`;
  }
  const walk = (more: readonly (Condition | null)[]): Positions => sql<{ position: unknown }>`
    select ${number} as position from ${from}
    where ${allOf([
      ...isInPart(number),
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

/** How a count that does not search is made. */
export interface PlainCount extends PartShape {
  /** Whether there is a walk for each publication since an instant. */
  readonly byPublication: boolean;
}

/** How many records of a table there are of these conditions: one row with `total`. */
export function countRecords(
  { table, alias }: NumberedTable,
  { byPublication, ...part }: PlainCount,
  conditions: readonly (Condition | null)[],
): RawBuilder<{ total: number }> {
  const isInPart = partOf(table, part)(sql.ref(`${alias}.number`));
  const records = sql`${sql.table(`catalog.${table}`)} as ${sql.ref(alias)}`;
  // A part of an index on publications is a part of what each of them changed.
  return byPublication && isInPart.length > 0
    ? sql<{ total: number }>`select count(*) as total from (${publicationsSince}) as since cross join ${records}
        where ${allOf([sql<SqlBool>`${sql.ref(`${alias}.changed_publication`)} = since.value`, ...isInPart, ...conditions])}`
    : sql<{ total: number }>`select count(*) as total from ${records} where ${allOf([...isInPart, ...conditions])}`;
}

/** How a count that searches is made of what the index knows. */
export interface SearchCount extends PartShape {
  /** Whether `match` says all that is asked for; otherwise each record that it gives is looked at. */
  readonly isCovered: boolean;
  /** Whether there are matches at the edge of what the index knows, `edge_match`, that are looked at besides. */
  readonly hasEdge: boolean;
}

/** How many records match the words and these conditions: one row with `total`. */
export function countFound(
  engine: Engine,
  numbered: NumberedTable,
  { isCovered, hasEdge, ...shape }: SearchCount,
  conditions: readonly (Condition | null)[],
): RawBuilder<{ total: number }> {
  const part = partOf(numbered.table, shape);
  const looked = (match: string): RawBuilder<number> => countLookedAt(engine, numbered, match, part, conditions);
  const total = isCovered ? countMatches(engine, numbered.table, 'match', part) : looked('match');
  return hasEdge
    ? sql<{ total: number }>`select ${total} + ${looked('edge_match')} as total`
    : sql<{ total: number }>`select ${total} as total`;
}

function countLookedAt(
  engine: Engine,
  { table, alias }: NumberedTable,
  match: string,
  part: NumberBounds,
  conditions: readonly (Condition | null)[],
): RawBuilder<number> {
  return sql<number>`(select count(*) from ${allMatches(engine, table, match, part)} as found
    where ${recordOf({ table, alias }, sql.ref('found.number'), conditions)})`;
}

/** Whether the record of a number meets the conditions: one look-up in the primary key for each number that is found. */
function recordOf(
  { table, alias }: NumberedTable,
  number: Expression<unknown>,
  conditions: readonly (Condition | null)[],
): Condition {
  return isFound(sql`select 1 from ${sql.table(`catalog.${table}`)} as ${sql.ref(alias)}
    where ${allOf([sql<SqlBool>`${sql.ref(`${alias}.number`)} = ${number}`, ...conditions])}`);
}

function partOf(table: string, { hasAfter, hasUpto }: PartShape): NumberBounds {
  return (number) => [
    ...(hasAfter ? [sql<SqlBool>`${number} > ${lastNumberOf(table, 'after')}`] : []),
    ...(hasUpto ? [sql<SqlBool>`${number} <= ${lastNumberOf(table, 'upto')}`] : []),
  ];
}

/** The number of the last record whose id is not after that in the slot: the record of that id itself may be gone. */
function lastNumberOf(table: string, slotName: string): RawBuilder<number> {
  return sql<number>`coalesce((select number from ${sql.table(`catalog.${table}`)}
    where id <= ${slot(slotName)} order by id desc limit 1), ${BEFORE_ALL})`;
}

/** Publications since the slot `since`, one value each. */
export const publicationsSince = sql<{ value: number }>`select number as value from catalog.publications
  where number >= ${firstPublicationSince}`;
