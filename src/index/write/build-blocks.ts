import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import { sql } from 'kysely';
import type { Database } from '../../database/database.ts';
import { insertRows } from '../../database/rows.ts';
import { BLOCK_SIZE, storedSet } from '../position-set.ts';
import type { StoredRow } from '../terms.ts';
import type { StoredEntry } from './block-builder.ts';
import type { BuilderMessage } from './block-thread.ts';
import { indexTable, readIndexedRows } from './indexed-rows.ts';
import type { IndexedKind } from '../../kinds.ts';

const MAX_THREADS = 2;

export interface BlockOfKind {
  readonly kind: IndexedKind;
  readonly block: number;
}

/** Rebuilds index blocks from the stored records, in threads. Awaits `pause` after each batch, with its number of records. */
export async function buildBlocks(
  database: Database,
  blocks: readonly BlockOfKind[],
  pause: (records: number) => Promise<void>,
): Promise<void> {
  const length = Math.min(MAX_THREADS, availableParallelism(), blocks.length);
  const threads = Array.from({ length }, () => new BuilderThread());
  const waiting = [...blocks];
  const buildNext = async (thread: BuilderThread): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const { kind, block } = next;
      for await (const rows of readIndexedRows(database, kind, block * BLOCK_SIZE, (block + 1) * BLOCK_SIZE)) {
        await thread.addRecords(kind, rows);
        await pause(rows.length);
      }
      await sql`delete from ${sql.table(`catalog.${kind}_index`)} where block = ${block}`.execute(database.kysely);
      for await (const entries of thread.buildStored()) {
        const rows = entries.map(({ term, bits }) => storedSet(kind, block, term, bits));
        await insertRows(database, indexTable(kind), rows);
      }
    }
  };
  const ended = await Promise.allSettled(
    threads.map(async (thread) => {
      try {
        await buildNext(thread);
      } finally {
        // After a failure, the other threads start no more blocks.
        waiting.length = 0;
        await thread.close();
      }
    }),
  );
  for (const end of ended) if (end.status === 'rejected') throw end.reason;
}

/** Some rows of a block; null after its last, and for a batch. */
type ThreadResponse = readonly StoredEntry[] | null;

class BuilderThread {
  readonly #worker = new Worker(new URL('block-thread.ts', import.meta.url), {
    // Its results are short-lived: a small heap collected often is as fast, at half the memory.
    resourceLimits: { maxYoungGenerationSizeMb: 16 },
  });
  /** Pending responses to batches, and to `next`. */
  #waiting: PromiseWithResolvers<ThreadResponse>[] = [];
  #failure: Error | null = null;

  constructor() {
    this.#worker.on('message', (message: ThreadResponse) => this.#waiting.shift()?.resolve(message));
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

  /** Yields the block's rows in pieces. Records added after the last belong to another block. */
  async *buildStored(): AsyncGenerator<readonly StoredEntry[]> {
    let next = this.#post('next');
    for (let piece = await next; piece !== null; piece = await next) {
      // The thread builds the next piece while this one is written.
      next = this.#post('next');
      yield piece;
    }
  }

  async close(): Promise<void> {
    await this.#worker.terminate();
  }

  #post(message: BuilderMessage): Promise<ThreadResponse> {
    const response = Promise.withResolvers<ThreadResponse>();
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
