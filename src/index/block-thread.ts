import { parentPort } from 'node:worker_threads';
import { BlockBuilder } from './block-builder.ts';
import { addRows, toStored, type BuilderMessage, type BuiltBlock } from './block-rows.ts';

/* Entry point of a worker thread that computes the rows of blocks; see `build-blocks.ts`. */

const builder = new BlockBuilder();

parentPort?.on('message', (message: BuilderMessage) => {
  if (message !== 'complete') {
    addRows(builder, message.kind, message.rows);
    parentPort?.postMessage(null);
    return;
  }
  const built = pack();
  parentPort?.postMessage(built, [built.bytes.buffer]);
});

function pack(): BuiltBlock {
  const entries = toStored(builder.build());
  const bytes = new Uint8Array(entries.reduce((sum, { bits }) => sum + bits.length, 0));
  let end = 0;
  const ends = entries.map(({ bits }) => {
    bytes.set(bits, end);
    end += bits.length;
    return end;
  });
  return { terms: entries.map(({ term }) => term), ends, bytes };
}
