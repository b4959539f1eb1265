import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import { sql } from 'kysely';
import type { Database } from '../../database/database.ts';
import { insertRows } from '../../database/rows.ts';
import { BLOCK_SIZE, storedSet } from '../position-set.ts';
import type { StoredRow } from '../terms.ts';
import { BlockBuilder, type StoredEntry } from './block-builder.ts';
import type { BuilderMessage, BuiltBlock } from './block-thread.ts';
import { indexTable, readIndexedRows } from './indexed-rows.ts';
import type { IndexedKind } from '../../kinds.ts';

/** Fewer records are finished before a thread has started. */
const MIN_RECORDS_FOR_THREADS = 4_096;

const MAX_THREADS = 2;

/** A block to build. */
export interface BlockOfKind {
  readonly kind: IndexedKind;
  readonly block: number;
}

interface BlockBuild {
  addRecords(kind: IndexedKind, rows: readonly StoredRow[IndexedKind][]): void | Promise<void>;
  /** Returns the block's rows. Records added from now on belong to another block. */
  buildStored(): readonly StoredEntry[] | Promise<readonly StoredEntry[]>;
  close?(): Promise<void>;
}

/** Rebuilds index blocks from the stored records. Awaits `pause` after each batch, with its number of records. */
export async function buildBlocks(
  database: Database,
  blocks: readonly BlockOfKind[],
  pause: (records: number) => Promise<void>,
): Promise<void> {
  if (blocks.length === 0) return;
  const builds: readonly BlockBuild[] = (await haveMany(database, blocks))
    ? Array.from({ length: Math.min(MAX_THREADS, availableParallelism()) }, () => new BuilderThread())
    : [new BlockBuilder()];
  const waiting = [...blocks];
  const buildNext = async (build: BlockBuild): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const { kind, block } = next;
      for await (const rows of readIndexedRows(database, kind, block * BLOCK_SIZE, (block + 1) * BLOCK_SIZE)) {
        await build.addRecords(kind, rows);
        await pause(rows.length);
      }
      const rows = (await build.buildStored()).map(({ term, bits }) => storedSet(kind, block, term, bits));
      await sql`delete from ${sql.table(`catalog.${kind}_index`)} where block = ${block}`.execute(database.kysely);
      await insertRows(database, indexTable(kind), rows);
    }
  };
  const ended = await Promise.allSettled(
    builds.map(async (build) => {
      try {
        await buildNext(build);
      } finally {
        // After a failure, the other threads start no more blocks.
        waiting.length = 0;
        await build.close?.();
      }
    }),
  );
  for (const end of ended) if (end.status === 'rejected') throw end.reason;
}

/** Whether the blocks of one kind hold enough records to justify threads. */
async function haveMany({ kysely }: Database, blocks: readonly BlockOfKind[]): Promise<boolean> {
  for (const [kind, ofKind] of Map.groupBy(blocks, ({ kind }) => kind)) {
    const first = Math.min(...ofKind.map(({ block }) => block)) * BLOCK_SIZE;
    const { rows } = await sql<{ count: number }>`select count(*) as count from (
      select 1 from ${sql.table(`catalog.${kind}`)} where position >= ${first}
      limit ${sql.lit(MIN_RECORDS_FOR_THREADS)}) as counted`.execute(kysely);
    if ((rows[0]?.count ?? 0) >= MIN_RECORDS_FOR_THREADS) return true;
  }
  return false;
}

class BuilderThread implements BlockBuild {
  readonly #worker = new Worker(new URL('block-thread.ts', import.meta.url), {
    // Its results are short-lived: a small heap collected often is as fast, at half the memory.
    resourceLimits: { maxYoungGenerationSizeMb: 16 },
  });
  /** Pending responses to batches, and to `complete`. */
  #waiting: PromiseWithResolvers<BuiltBlock | null>[] = [];
  #failure: Error | null = null;

  constructor() {
    this.#worker.on('message', (message: BuiltBlock | null) => this.#waiting.shift()?.resolve(message));
    this.#worker.on('error', (error: Error) => {
      this.#failure = error;
      for (const { reject } of this.#waiting.splice(0)) reject(error);
    });
  }

  /** Resolves once the thread is at most one batch behind. */
  async addRecords(kind: IndexedKind, rows: readonly StoredRow[IndexedKind][]): Promise<void> {
    const earlier = this.#waiting.at(-1)?.promise;
    void this.#post({ kind, rows });
    await earlier;
  }

  async buildStored(): Promise<readonly StoredEntry[]> {
    const built = await this.#post('complete');
    if (built === null) throw new Error('a thread completed no block');
    const { terms, ends, bytes } = built;
    return terms.map((term, index) => ({ term, bits: bytes.subarray(ends[index - 1] ?? 0, ends[index]) }));
  }

  async close(): Promise<void> {
    await this.#worker.terminate();
  }

  #post(message: BuilderMessage): Promise<BuiltBlock | null> {
    const response = Promise.withResolvers<BuiltBlock | null>();
    // Awaited later; until then a rejection must not count as unhandled.
    response.promise.catch(() => undefined);
    if (this.#failure === null) {
      this.#waiting.push(response);
      this.#worker.postMessage(message);
    } else {
      response.reject(this.#failure);
    }
    return response.promise;
  }
}
