import { parentPort } from 'node:worker_threads';
import type { IndexedKind } from '../../kinds.ts';
import type { StoredRow } from '../terms.ts';
import { BlockBuilder, type StoredEntry } from './block-builder.ts';

/* Entry point of a worker thread that computes the rows of blocks; see `build-blocks.ts`. */

/** A message to the thread: a batch of the block's records, or a request for the next of its rows; null after the last. */
export type BuilderMessage = { readonly kind: IndexedKind; readonly rows: readonly StoredRow[IndexedKind][] } | 'next';

const builder = new BlockBuilder();
let pieces: ReturnType<BlockBuilder['buildStored']> | null = null;

parentPort?.on('message', (message: BuilderMessage) => {
  let piece: StoredEntry[] | null = null;
  if (message === 'next') piece = (pieces ??= builder.buildStored()).next().value ?? null;
  else builder.addRecords(message.kind, message.rows);
  if (piece === null) pieces = null;
  parentPort?.postMessage(piece);
});
