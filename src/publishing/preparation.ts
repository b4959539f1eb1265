import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import { linePreparer, type PreparedLine } from './line-preparer.ts';
import type { RecordKind } from './records.ts';

/** Smaller sources finish before a thread has started. */
const WORTH_A_THREAD_BYTES = 8 * 1024 * 1024;

/** The main thread writes; more than two workers would wait for it. */
const MAX_THREADS = 2;

/** A line is within the length limit, but its parsed value exceeds a thread's memory. */
export class RecordTooLargeError extends Error {
  override name = 'RecordTooLargeError';

  constructor() {
    super('a line of it holds more than can be kept in memory: is this a record?');
  }
}

/** A worker thread's input. */
export interface ThreadTask {
  kind: RecordKind;
}

/** Lines joined into one buffer, which is transferred to the thread without copying. */
export interface LinesMessage {
  bytes: Uint8Array<ArrayBuffer>;
  /** The end offset of each line. */
  ends: number[];
}

/** Prepares lines, on worker threads if the source is large. */
export interface Preparation<K extends RecordKind> {
  prepare(lines: readonly Buffer[]): Promise<PreparedLine<K>[]>;
  close(): Promise<void>;
}

/**
 * Starts preparing lines of one kind.
 *
 * @param sourceBytes the total size of the source, or 0 if unknown.
 */
export function openPreparation<K extends RecordKind>(kind: K, sourceBytes: number): Preparation<K> {
  if (sourceBytes < WORTH_A_THREAD_BYTES) {
    const prepare = linePreparer(kind);
    return { prepare: async (lines) => lines.map(prepare), close: async () => undefined };
  }
  const count = Math.max(1, Math.min(MAX_THREADS, availableParallelism() - 1));
  const threads = Array.from({ length: count }, () => startThread(kind));
  let turn = 0;
  return {
    prepare: (lines) => {
      turn = (turn + 1) % threads.length;
      return threads[turn]?.prepare(lines) ?? Promise.reject(new Error('there is no thread'));
    },
    close: async () => {
      await Promise.all(threads.map(({ worker }) => worker.terminate()));
    },
  };
}

function startThread<K extends RecordKind>(kind: K) {
  const worker = new Worker(new URL('preparation-thread.ts', import.meta.url), {
    workerData: { kind } satisfies ThreadTask,
    // Its results are short-lived: a small heap collected often is as fast, at half the memory.
    resourceLimits: { maxYoungGenerationSizeMb: 16, maxOldGenerationSizeMb: 128 },
  });
  /** Responses arrive in request order. */
  const waiting: PromiseWithResolvers<PreparedLine<K>[]>[] = [];
  let failure: Error | null = null;
  worker.on('message', (prepared: PreparedLine<K>[]) => waiting.shift()?.resolve(prepared));
  worker.on('error', (error: NodeJS.ErrnoException) => {
    failure = error.code === 'ERR_WORKER_OUT_OF_MEMORY' ? new RecordTooLargeError() : error;
    for (const { reject } of waiting.splice(0)) reject(failure);
  });
  const prepare = (lines: readonly Buffer[]): Promise<PreparedLine<K>[]> => {
    const answer = Promise.withResolvers<PreparedLine<K>[]>();
    // Awaited later; until then a rejection must not count as unhandled.
    answer.promise.catch(() => undefined);
    if (failure === null) {
      waiting.push(answer);
      const message = joinLines(lines);
      worker.postMessage(message, [message.bytes.buffer]);
    } else {
      answer.reject(failure);
    }
    return answer.promise;
  };
  return { worker, prepare };
}

function joinLines(lines: readonly Buffer[]): LinesMessage {
  const bytes = new Uint8Array(lines.reduce((sum, { length }) => sum + length, 0));
  let end = 0;
  const ends = lines.map((line) => {
    bytes.set(line, end);
    end += line.length;
    return end;
  });
  return { bytes, ends };
}
