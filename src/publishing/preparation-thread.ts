import { parentPort, workerData } from 'node:worker_threads';
import { linePreparer } from './line-preparer.ts';
import type { LinesMessage, ThreadTask } from './preparation.ts';

/* Entry point of a worker thread that prepares lines; see `preparation.ts`. */

const { kind } = workerData as ThreadTask;
const prepare = linePreparer(kind);

parentPort?.on('message', ({ bytes, ends }: LinesMessage) => {
  parentPort?.postMessage(ends.map((end, index) => prepare(bytes.subarray(ends[index - 1] ?? 0, end))));
});
