import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import { linePreparer, type PreparedLine } from './line-preparer.ts';
import type { RecordKind } from './records.ts';

/** A source of fewer bytes is done before a thread has started. */
const WORTH_A_THREAD_BYTES = 8 * 1024 * 1024;

/** One thread writes; more than two others would wait for it. */
const MOST_THREADS = 2;

/** A line is short enough, and what it holds takes more memory than a thread has. */
export class RecordTooLargeError extends Error {
  override name = 'RecordTooLargeError';

  constructor() {
    super('a line of it holds more than can be kept in memory: is this a record?');
  }
}

/** What a thread is started for. */
export interface ThreadTask {
  kind: RecordKind;
}

/** Lines that were joined for the way to a thread: one piece of memory is handed over, and nothing copied. */
export interface LinesMessage {
  bytes: Uint8Array<ArrayBuffer>;
  /** Where each line ends. */
  ends: number[];
}

/** Prepares lines, on threads of its own where there are many. */
export interface Preparation<K extends RecordKind> {
  prepare(lines: readonly Buffer[]): Promise<PreparedLine<K>[]>;
  close(): Promise<void>;
}

/**
 * Starts what prepares one kind's lines.
 *
 * @param sourceBytes the size of all lines together, as far as it is known.
 */
export function openPreparation<K extends RecordKind>(kind: K, sourceBytes: number): Preparation<K> {
  if (sourceBytes < WORTH_A_THREAD_BYTES) {
    const prepare = linePreparer(kind);
    return { prepare: async (lines) => lines.map(prepare), close: async () => undefined };
  }
  const count = Math.max(1, Math.min(MOST_THREADS, availableParallelism() - 1));
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
    // What it makes lives for a moment: a small heap that is swept often is as fast, and half the memory.
    resourceLimits: { maxYoungGenerationSizeMb: 16, maxOldGenerationSizeMb: 128 },
  });
  /** Answers come in the order of the questions. */
  const waiting: PromiseWithResolvers<PreparedLine<K>[]>[] = [];
  let failure: Error | null = null;
  worker.on('message', (prepared: PreparedLine<K>[]) => waiting.shift()?.resolve(prepared));
  worker.on('error', (error: NodeJS.ErrnoException) => {
    failure = error.code === 'ERR_WORKER_OUT_OF_MEMORY' ? new RecordTooLargeError() : error;
    for (const { reject } of waiting.splice(0)) reject(failure);
  });
  const prepare = (lines: readonly Buffer[]): Promise<PreparedLine<K>[]> => {
    const answer = Promise.withResolvers<PreparedLine<K>[]>();
    // It is waited for later; until then a failure is not unhandled.
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
