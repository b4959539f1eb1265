import { sql, type RawBuilder } from 'kysely';
import type { Engine, Query } from '../database/database.ts';
import { isLookedUp, limitParameter, listedRows, parameter } from '../database/statement.ts';
import type { IndexedKind } from '../kinds.ts';
import type { StoredSet } from './position-set.ts';

/* Statements that read the index while serving. */

interface BlockRow {
  readonly block: number;
  readonly first_id: string;
  readonly token: string;
}

/** The blocks of a kind. */
export function readBlocks(kind: IndexedKind): Query<BlockRow> {
  return {
    statementKey: 'index blocks',
    columns: ['block', 'first_id', 'token'],
    build: () => sql`select block, first_id, token from catalog.index_blocks where kind = ${parameter('kind')}`,
    values: { kind },
  };
}

type SetRow = StoredSet & {
  /** The number of the range that the term was found by; null if the term itself was requested. */
  readonly range: number | null;
};

interface SetsToRead {
  readonly terms: readonly (readonly [block: number, term: string])[];
  /** Each with a number that is returned. */
  readonly ranges: readonly (readonly [block: number, first: string, second: string, range: number])[];
  /** How many terms of each range to read. */
  readonly limit: number;
}

/** The sets of terms, and of the first terms in each range. A term that no record has returns no row. */
export function readSets(engine: Engine, kind: IndexedKind, { terms, ranges, limit }: SetsToRead): Query<SetRow> {
  return {
    statementKey: `sets of ${kind}`,
    columns: ['range', 'block', 'term', 'bits', 'checksum'],
    build: () => setsStatement(engine, kind),
    values: { terms: JSON.stringify(terms), ranges: JSON.stringify(ranges), limit },
  };
}

/**
 * `isLookedUp` forces look-ups in the primary key, whatever PostgreSQL's statistics say. With a row comparison, a range
 * was read to the end of its block: 19 ms instead of 0.1.
 */
function setsStatement(engine: Engine, kind: IndexedKind): RawBuilder<SetRow> {
  const index = sql.table(`catalog.${kind}_index`);
  const terms = listedRows(engine, 'terms', { block: 'bigint', term: 'text' }, 'asked');
  const columns = { block: 'bigint', first: 'text', second: 'text', range: 'bigint' } as const;
  const ranges = listedRows(engine, 'ranges', columns, 'asked');
  const isInBlock = isLookedUp(engine, 'indexed.block', 'asked.block');
  return sql<SetRow>`
    select cast(null as bigint) as range, indexed.block, indexed.term, indexed.bits, indexed.checksum
    from ${terms} cross join ${index} as indexed
    where ${isInBlock} and ${isLookedUp(engine, 'indexed.term', 'asked.term')}
    union all
    select asked.range, indexed.block, indexed.term, indexed.bits, indexed.checksum
    from ${ranges} cross join ${index} as indexed
    where ${isInBlock}
      and indexed.term >= asked.first
      and indexed.term < coalesce(
        (select later.term from ${index} as later
          where later.block = asked.block and later.term >= asked.first and later.term < asked.second
          order by later.term limit 1 offset ${limitParameter('limit')}),
        asked.second)`;
}

/** The position of the last record whose id is at most this one; no row if there is none. */
export function readPosition(kind: IndexedKind, id: string): Query<{ position: number }> {
  return {
    statementKey: `position of ${kind}`,
    columns: ['position'],
    build: () => sql`select position from ${sql.table(`catalog.${kind}`)}
      where id <= ${parameter('id')} order by id desc limit 1`,
    values: { id },
  };
}
