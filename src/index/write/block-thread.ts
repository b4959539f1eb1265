import { parentPort } from 'node:worker_threads';
import type { IndexedKind } from '../../kinds.ts';
import type { StoredRow } from '../terms.ts';
import { BlockBuilder } from './block-builder.ts';

/* Entry point of a worker thread that computes the rows of blocks; see `build-blocks.ts`. */

/** A message to the thread: a batch of records, or the end of the block, to which it responds with the block's rows. */
export type BuilderMessage =
  { readonly kind: IndexedKind; readonly rows: readonly StoredRow[IndexedKind][] } | 'complete';

const builder = new BlockBuilder();

parentPort?.on('message', (message: BuilderMessage) => {
  if (message !== 'complete') builder.addRecords(message.kind, message.rows);
  parentPort?.postMessage(message === 'complete' ? builder.buildStored() : null);
});
