import { sql } from 'kysely';
import type { Database } from '../../database/database.ts';
import { indexTable } from './indexed-rows.ts';
import { BLOCK_SIZE } from '../position-set.ts';
import type { IndexedKind } from '../../kinds.ts';

/** A block that is listed in `index_blocks`, holds records or has rows in the index. */
export interface LayoutBlock {
  readonly number: number;
  /** The block's ids, without `to`, which is null for the last block; null if the block is not listed. */
  readonly ids: { readonly from: string; readonly to: string | null } | null;
}

/** The blocks of a kind's index, ordered by number. Reads only a few rows per block. */
export async function readLayout(database: Database, kind: IndexedKind): Promise<LayoutBlock[]> {
  const { kysely } = database;
  const { rows: listed } = await sql<{ block: number; first_id: string }>`
    select block, first_id from catalog.index_blocks where kind = ${kind} order by first_id, block`.execute(kysely);
  const ids = new Map(
    listed.map(({ block, first_id: from }, index) => [block, { from, to: listed[index + 1]?.first_id ?? null }]),
  );
  const numbers = new Set([
    ...ids.keys(),
    ...(await distinctBlocks(database, `catalog.${kind}`, 'position', BLOCK_SIZE)),
    ...(await distinctBlocks(database, indexTable(kind), 'block', 1)),
  ]);
  return [...numbers].sort((one, other) => one - other).map((number) => ({ number, ids: ids.get(number) ?? null }));
}

/** The distinct blocks in a column, skipping from each to the next in the column's index. */
async function distinctBlocks({ kysely }: Database, table: string, column: string, size: number): Promise<number[]> {
  const blocks: number[] = [];
  for (let from = Number.MIN_SAFE_INTEGER; ;) {
    const { rows } = await sql<{ next: number | null }>`select min(${sql.ref(column)}) as next
      from ${sql.table(table)} where ${sql.ref(column)} >= cast(${from} as bigint)`.execute(kysely);
    const next = rows[0]?.next ?? null;
    if (next === null) return blocks;
    const block = Math.floor(next / size);
    blocks.push(block);
    from = (block + 1) * size;
  }
}

/**
 * Returns a check that a block's records have distinct positions in id order and belong to the block. Call it for each
 * record in order of position.
 */
export function placementCheck({ ids }: LayoutBlock): (row: { id: string; position: number }) => boolean {
  let last: { id: string; position: number } | null = null;
  return (row) => {
    const isBehind = last === null || (row.position > last.position && row.id > last.id);
    last = row;
    // Ids are ASCII, so JavaScript sorts them as the databases do.
    return isBehind && (ids === null || (row.id >= ids.from && (ids.to === null || row.id < ids.to)));
  };
}

/** Whether every record of a kind has a valid position. */
export async function isLayoutSound(
  database: Database,
  kind: IndexedKind,
  pause: () => Promise<void>,
): Promise<boolean> {
  const blocks = await readLayout(database, kind);
  if (blocks.some(({ ids }) => ids === null)) return false;
  for (const block of blocks) {
    const [from, to] = [block.number * BLOCK_SIZE, (block.number + 1) * BLOCK_SIZE];
    const { rows } = await sql<{ id: string; position: number }>`select id, position
      from ${sql.table(`catalog.${kind}`)} where position >= ${from} and position < ${to} order by position`.execute(
      database.kysely,
    );
    if (!rows.every(placementCheck(block))) return false;
    await pause();
  }
  return true;
}
