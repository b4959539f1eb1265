import { sql, type RawBuilder } from 'kysely';
import type { Engine } from '../database/database.ts';
import { catalogState } from '../database/revision.ts';
import { isLookedUp, limitParameter, listedRows, parameter } from '../database/statement.ts';
import type { IndexedKind } from '../kinds.ts';
import type { StoredSet } from './position-set.ts';

/* Statements that read the index while serving. Each returns the catalog state that it saw; see `OtherStateError`. */

/** Two statements saw different states of the catalog. */
export class OtherStateError extends Error {}

interface BlockRow {
  readonly catalog: string;
  /** Null in the only row if the kind has no blocks. */
  readonly block: number | null;
  readonly first_id: string | null;
  readonly token: string | null;
}

/** The blocks of the kind in the parameter `kind`, in id order. */
export const readBlocks: RawBuilder<BlockRow> = sql<BlockRow>`
  select state.catalog, indexed.block, indexed.first_id, indexed.token
  from (select ${catalogState} as catalog) as state
  left join catalog.index_blocks as indexed on indexed.kind = ${parameter('kind')}
  order by indexed.first_id`;

type SetRow =
  | { readonly catalog: string }
  | (StoredSet & {
      readonly catalog: null;
      /** The number of the range that the term was found by; null if the term itself was requested. */
      readonly range: number | null;
    });

/**
 * The sets of the terms in the parameter `terms` (pairs of block and term), and of the first `limit` terms in each of
 * the parameter `ranges` (a block, two terms, and a number that is returned). A term that no record has returns no row.
 *
 * `isLookedUp` forces look-ups in the primary key, whatever PostgreSQL's statistics say. With a row comparison, a range
 * was read to the end of its block: 19 ms instead of 0.1.
 */
export function readSets(engine: Engine, kind: IndexedKind): RawBuilder<SetRow> {
  const index = sql.table(`catalog.${kind}_index`);
  const terms = listedRows(engine, 'terms', { block: 'bigint', term: 'text' }, 'asked');
  const columns = { block: 'bigint', first: 'text', second: 'text', range: 'bigint' } as const;
  const ranges = listedRows(engine, 'ranges', columns, 'asked');
  const isInBlock = isLookedUp(engine, 'indexed.block', 'asked.block');
  return sql<SetRow>`
    select ${catalogState} as catalog, cast(null as bigint) as range,
      null as block, null as term, null as bits, null as checksum
    union all
    select null, null, indexed.block, indexed.term, indexed.bits, indexed.checksum
    from ${terms} cross join ${index} as indexed
    where ${isInBlock} and ${isLookedUp(engine, 'indexed.term', 'asked.term')}
    union all
    select null, asked.range, indexed.block, indexed.term, indexed.bits, indexed.checksum
    from ${ranges} cross join ${index} as indexed
    where ${isInBlock}
      and indexed.term >= asked.first
      and indexed.term < coalesce(
        (select later.term from ${index} as later
          where later.block = asked.block and later.term >= asked.first and later.term < asked.second
          order by later.term limit 1 offset ${limitParameter('limit')}),
        asked.second)`;
}

/** The position of the last record whose id is at most the parameter `id`. */
export function readPosition(kind: IndexedKind): RawBuilder<{ catalog: string; position: number | null }> {
  return sql<{ catalog: string; position: number | null }>`select ${catalogState} as catalog,
    (select position from ${sql.table(`catalog.${kind}`)} where id <= ${parameter('id')} order by id desc limit 1) as position`;
}
