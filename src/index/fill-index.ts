import { randomUUID } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import { sql } from 'kysely';
import type { Database } from '../database/database.ts';
import { buildBlocks } from './build-blocks.ts';
import { indexTable } from './indexed-rows.ts';
import { BLOCK_SIZE } from './position-set.ts';
import { INDEXED_KINDS, type IndexedKind } from './terms.ts';

/** A quarter of the positions stays free, evenly spread, for new records between others. */
const RECORDS_PER_BLOCK = (BLOCK_SIZE * 3) / 4;

/** Records indexed so far, their total, and the current step. */
export interface FillProgress {
  readonly done: number;
  readonly total: number;
  readonly what: string;
}

/**
 * Assigns all records positions in id order and rebuilds the index from the stored records, replacing both. Needs a
 * transaction that excludes imports.
 *
 * @param onProgress called regularly. An error it throws ends the work.
 */
export async function fillIndex(database: Database, onProgress: (progress: FillProgress) => void): Promise<void> {
  const token = randomUUID();
  let done = 0;
  const counts = await countRecords(database, INDEXED_KINDS);
  const total = [...counts.values()].reduce((sum, count) => sum + count, 0);
  for (const kind of INDEXED_KINDS) {
    onProgress({ done, total, what: `Placing ${kind}` });
    await assignPositions(database, kind, token, async () => {
      await setImmediate();
      onProgress({ done, total, what: `Placing ${kind}` });
    });
    await rebuildBlocks(database, kind, token, setImmediate, (count) => {
      done += count;
      onProgress({ done, total, what: `Indexing ${kind}` });
    });
  }
}

export async function countRecords(
  { kysely }: Database,
  kinds: readonly IndexedKind[],
): Promise<Map<IndexedKind, number>> {
  const counts = new Map<IndexedKind, number>();
  for (const kind of kinds) {
    const { rows } = await sql<{ count: number }>`
      select count(*) as count from ${sql.table(`catalog.${kind}`)}`.execute(kysely);
    counts.set(kind, rows[0]?.count ?? 0);
  }
  return counts;
}

/**
 * Assigns a kind's records positions in id order and lists its blocks again; call `rebuildBlocks` afterwards. Writes
 * only records whose position changes, one block at a time, since SQLite blocks the event loop meanwhile.
 *
 * @param pause awaited once per block.
 */
export async function assignPositions(
  { kysely }: Database,
  kind: IndexedKind,
  token: string,
  pause: () => Promise<void>,
): Promise<void> {
  const table = sql.table(`catalog.${kind}`);
  await kysely.deleteFrom('catalog.index_blocks').where('kind', '=', kind).execute();
  const first = await kysely.selectFrom(`catalog.${kind}`).select('id').limit(1).executeTakeFirst();
  if (first === undefined) return;
  let from: string | null = '';
  for (let block = 0; from !== null; block += 1) {
    const next: { id: string } | undefined = await kysely
      .selectFrom(`catalog.${kind}`)
      .select('id')
      .where('id', '>=', from)
      .orderBy('id')
      .offset(RECORDS_PER_BLOCK)
      .limit(1)
      .executeTakeFirst();
    const to: string | null = next?.id ?? null;
    const isInBlock = (alias: string) =>
      sql`${sql.ref(`${alias}.id`)} >= ${from} ${to === null ? sql`` : sql`and ${sql.ref(`${alias}.id`)} < ${to}`}`;
    await sql`update ${table} as moved set position = placed.position
      from (select record.id, cast(${block * BLOCK_SIZE} as bigint)
          + (row_number() over (order by record.id) - 1) * 4 / 3 as position
        from ${table} as record where ${isInBlock('record')}) as placed
      where moved.id = placed.id and ${isInBlock('moved')} and moved.position is distinct from placed.position`.execute(
      kysely,
    );
    await kysely.insertInto('catalog.index_blocks').values({ kind, block, first_id: from, token }).execute();
    await pause();
    from = to;
  }
}

/**
 * Rebuilds a kind's index from the stored records at their current positions.
 *
 * @param pause awaited once per batch.
 * @param onRecords called with the number of records just read.
 */
export async function rebuildBlocks(
  database: Database,
  kind: IndexedKind,
  token: string,
  pause: () => Promise<void>,
  onRecords: (count: number) => void,
): Promise<void> {
  const { kysely } = database;
  await kysely.deleteFrom(indexTable(kind)).execute();
  await kysely.updateTable('catalog.index_blocks').set({ token }).where('kind', '=', kind).execute();
  const blocks = await kysely
    .selectFrom('catalog.index_blocks')
    .select('block')
    .where('kind', '=', kind)
    .orderBy('block')
    .execute();
  const ofKind = blocks.map(({ block }) => ({ kind, block }));
  await buildBlocks(database, ofKind, pause, onRecords);
}
