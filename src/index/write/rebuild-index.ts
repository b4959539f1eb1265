import { setImmediate } from 'node:timers/promises';
import { sql } from 'kysely';
import type { Database } from '../../database/database.ts';
import { countRows, insertRows } from '../../database/rows.ts';
import { firstRow, readValue } from '../../database/statement.ts';
import { buildBlocks } from './build-blocks.ts';
import { indexTable } from './indexed-rows.ts';
import { BLOCK_SIZE } from '../position-set.ts';
import { blockToken } from '../terms.ts';
import { INDEXED_KINDS, type IndexedKind } from '../../kinds.ts';
import type { OnProgress } from '../../database/catalog-lock.ts';

/** A quarter of the positions stays free, evenly spread, for new records between others. */
const RECORDS_PER_BLOCK = (BLOCK_SIZE * 3) / 4;

export interface RebuiltKind {
  readonly kind: IndexedKind;
  readonly records: number;
  /** The records' positions were out of order, and were assigned again. */
  readonly isPlacedAgain: boolean;
}

/**
 * Rebuilds the index from the stored records. Needs a transaction that excludes imports.
 *
 * @param token of the release that makes the new index known.
 * @param onProgress called regularly with records and the kind that is being indexed.
 */
export async function rebuildIndex(database: Database, token: string, onProgress: OnProgress): Promise<RebuiltKind[]> {
  const { kysely } = database;
  const counts = await countRecords(database);
  const total = counts.reduce((sum, { records }) => sum + records, 0);
  let done = 0;
  const rebuilt: RebuiltKind[] = [];
  for (const { kind, records } of counts) {
    const pause = async (count = 0): Promise<void> => {
      done += count;
      await setImmediate();
      onProgress({ done, total, what: kind });
    };
    await pause();
    const isPlacedAgain = !(await isLayoutSound(database, kind, pause));
    if (isPlacedAgain) await assignPositions(database, kind, blockToken(kind, token), pause);
    await sql`delete from ${sql.table(indexTable(kind))}`.execute(kysely);
    const { rows } = await sql<{ block: number }>`update catalog.index_blocks set token = ${blockToken(kind, token)}
      where kind = ${kind} returning block`.execute(kysely);
    await buildBlocks(
      database,
      rows.map(({ block }) => ({ kind, block })),
      pause,
    );
    rebuilt.push({ kind, records, isPlacedAgain });
  }
  return rebuilt;
}

/** The number of stored records of each kind. */
export async function countRecords(database: Database): Promise<{ kind: IndexedKind; records: number }[]> {
  const counts = [];
  for (const kind of INDEXED_KINDS) counts.push({ kind, records: await countRows(database, `catalog.${kind}`) });
  return counts;
}

/**
 * Assigns a kind's records positions in id order and lists its blocks again; call `buildBlocks` afterwards. Writes
 * one block at a time, since SQLite blocks the event loop meanwhile.
 */
async function assignPositions(database: Database, kind: IndexedKind, token: string, pause: () => Promise<void>) {
  const { kysely } = database;
  const table = sql.table(`catalog.${kind}`);
  await sql`delete from catalog.index_blocks where kind = ${kind}`.execute(kysely);
  const { rows: ends } = await sql<{ first: number | null; last: number | null }>`
    select min(position) as first, max(position) as last from ${table}`.execute(kysely);
  const { first, last } = firstRow(ends);
  if (first === null || last === null) return;
  // First, every record moves to a position below 0 that no record has or gets.
  const distance = last - Math.min(first, 0) + 1;
  await sql`update ${table} set position = position - cast(${distance} as bigint)`.execute(kysely);
  let from: string | null = '';
  for (let block = 0; from !== null; block += 1) {
    const { rows } = await sql<{ id: string }>`select id from ${table} where id >= ${from} order by id
      limit 1 offset ${sql.lit(RECORDS_PER_BLOCK)}`.execute(kysely);
    const to: string | null = rows[0]?.id ?? null;
    const isInBlock = (alias: string) =>
      sql`${sql.ref(`${alias}.id`)} >= ${from} ${to === null ? sql`` : sql`and ${sql.ref(`${alias}.id`)} < ${to}`}`;
    await sql`update ${table} as moved set position = placed.position
      from (select record.id, cast(${block * BLOCK_SIZE} as bigint)
          + (row_number() over (order by record.id) - 1) * 4 / 3 as position
        from ${table} as record where ${isInBlock('record')}) as placed
      where moved.id = placed.id and ${isInBlock('moved')}`.execute(kysely);
    await insertRows(database, 'catalog.index_blocks', [{ kind, block, first_id: from, token }]);
    await pause();
    from = to;
  }
}

/** A block that is listed in `index_blocks`, holds records or has rows in the index. */
export interface LayoutBlock {
  readonly number: number;
  /** The range of ids: `to` is exclusive, and null for the last block. Null if the block is not listed. */
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
async function distinctBlocks(database: Database, table: string, column: string, size: number): Promise<number[]> {
  const blocks: number[] = [];
  for (let from = Number.MIN_SAFE_INTEGER; ;) {
    const next = await readValue<number>(
      database,
      sql`select min(${sql.ref(column)}) as value from ${sql.table(table)} where ${sql.ref(column)} >= cast(${from} as bigint)`,
    );
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

async function isLayoutSound(database: Database, kind: IndexedKind, pause: () => Promise<void>): Promise<boolean> {
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
