import { sql } from 'kysely';
import type { Database } from '../database/database.ts';
import { inBatches } from '../database/rows.ts';
import { isOneOf } from '../database/statement.ts';
import type { IndexedKind } from '../kinds.ts';
import { decodeStoredSet, EMPTY_SET, sizeOf, unionOf, type PositionSet, type StoredSet } from './position-set.ts';

/** The number of records that have one of these terms, for commands. Served by the primary key of the index. */
export async function countRecordsWith({ engine, kysely }: Database, kind: IndexedKind, terms: readonly string[]) {
  // Read before: with a join, PostgreSQL can read the whole index.
  const { rows: blocks } = await sql<{ block: number }>`
    select block from catalog.index_blocks where kind = ${kind}`.execute(kysely);
  if (blocks.length === 0) return 0;
  const numbers = blocks.map(({ block }) => block);
  const found = new Map<number, PositionSet>();
  for (const some of inBatches(terms)) {
    const { rows } = await sql<StoredSet>`select block, term, bits, checksum from ${sql.table(`catalog.${kind}_index`)}
      where ${isOneOf(engine, sql.ref('block'), numbers)} and ${isOneOf(engine, sql.ref('term'), some)}`.execute(
      kysely,
    );
    for (const [block, ofBlock] of Map.groupBy(rows, (row) => row.block)) {
      const sets = ofBlock.map((row) => decodeStoredSet(kind, row));
      found.set(block, unionOf([found.get(block) ?? EMPTY_SET, ...sets]));
    }
  }
  return found.values().reduce((total, set) => total + sizeOf(set), 0);
}
