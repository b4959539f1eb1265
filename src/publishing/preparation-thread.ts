import { parentPort, workerData } from 'node:worker_threads';
import { linePreparer } from './line-preparer.ts';
import type { LinesMessage } from './preparation.ts';
import type { RecordKind } from './records.ts';

/* The program of a thread that prepares lines; see `preparation.ts`. */

const prepare = linePreparer(workerData as RecordKind);

parentPort?.on('message', ({ bytes, ends }: LinesMessage) => {
  parentPort?.postMessage(ends.map((end, index) => prepare(bytes.subarray(ends[index - 1] ?? 0, end))));
});
