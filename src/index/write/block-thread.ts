import { parentPort } from 'node:worker_threads';
import type { IndexedKind } from '../../kinds.ts';
import type { StoredRow } from '../terms.ts';
import { BlockBuilder } from './block-builder.ts';

/* Entry point of a worker thread that computes the rows of blocks; see `build-blocks.ts`. */

/** A message to the thread: a batch of records, or the end of the block. */
export type BuilderMessage =
  { readonly kind: IndexedKind; readonly rows: readonly StoredRow[IndexedKind][] } | 'complete';

/** A block's rows in transit between threads: all sets in one buffer, which is transferred without copying. */
export interface BuiltBlock {
  readonly terms: readonly string[];
  /** The end offset of each set. */
  readonly ends: readonly number[];
  readonly bytes: Uint8Array<ArrayBuffer>;
}

const builder = new BlockBuilder();

parentPort?.on('message', (message: BuilderMessage) => {
  if (message !== 'complete') {
    builder.addRecords(message.kind, message.rows);
    parentPort?.postMessage(null);
    return;
  }
  const built = pack();
  parentPort?.postMessage(built, [built.bytes.buffer]);
});

function pack(): BuiltBlock {
  const entries = builder.buildStored();
  const bytes = new Uint8Array(entries.reduce((sum, { bits }) => sum + bits.length, 0));
  let end = 0;
  const ends = entries.map(({ bits }) => {
    bytes.set(bits, end);
    end += bits.length;
    return end;
  });
  return { terms: entries.map(({ term }) => term), ends, bytes };
}
