import { write, writeSync } from 'node:fs';
import { printableJson } from '../../printable.ts';

/** The largest atomic write to a pipe (`PIPE_BUF` on Linux), so that lines of several processes do not mix. */
const ATOMIC_WRITE_BYTES = 4_096;

/**
 * A process that is alone writes this much at once. Each write wakes a thread: with small ones that took an eighth of
 * the time of requests that were served from the cache.
 */
const LARGE_WRITE_BYTES = 65_536;

/** Lines are written once so much of a write's size is full, or after this delay. */
const GATHERED_PART = 0.85;
const MAX_BUFFERING_MS = 20;

/** Maximum backlog while the disk is full or the reader stalls; further lines are dropped and counted. */
const MAX_WAITING_BYTES = 4 * 1024 * 1024;

/** How long shutdown waits for the last lines. */
const LAST_WRITE_MS = 1_000;

export interface LogOutputOptions {
  readonly descriptor: number;
  /** Whether other processes write to the same descriptor. */
  readonly isShared: boolean;
  /** Called once when writing fails, with the reason. */
  onFailure(error: NodeJS.ErrnoException): void;
  /** Called when writing succeeds again, also after a stalled reader, with the number of dropped lines. */
  onRecovery(droppedLines: number): void;
}

/**
 * Writes the log. The service keeps running without its log, and logging resumes when possible: after a full disk, a
 * stalled reader or none. pino's own destination ends the process at the first failed write, and retries the last lines
 * forever.
 */
export class LogOutput {
  readonly #options: LogOutputOptions;
  readonly #writeBytes: number;
  /** Batches of whole lines. */
  readonly #chunks: Buffer[] = [];
  #lines: string[] = [];
  #linesBytes = 0;
  #waitingBytes = 0;
  #dropped = 0;
  #isWriting = false;
  #hasFailed = false;
  #timer: NodeJS.Timeout | undefined;
  /** Called when the backlog is empty or cannot be written. */
  #onIdle: (() => void)[] = [];

  constructor(options: LogOutputOptions) {
    this.#options = options;
    this.#writeBytes = options.isShared ? ATOMIC_WRITE_BYTES : LARGE_WRITE_BYTES;
  }

  /** Queues a JSON line, including its newline. Never throws or blocks. */
  write(json: string): void {
    const line = printableJson(json);
    const bytes = Buffer.byteLength(line);
    if (this.#waitingBytes + bytes > MAX_WAITING_BYTES) {
      this.#dropped += 1;
      return;
    }
    if (this.#linesBytes + bytes > this.#writeBytes) this.#gather();
    this.#lines.push(line);
    this.#linesBytes += bytes;
    this.#waitingBytes += bytes;
    if (this.#hasFailed) return;
    if (this.#linesBytes >= GATHERED_PART * this.#writeBytes) this.#gather();
    if (this.#chunks.length > 0) this.#writeNext();
    this.#timer ??= setTimeout(() => this.#writeAll(), MAX_BUFFERING_MS).unref();
  }

  /** Writes the backlog, and calls back when it is written, has failed or takes longer than `LAST_WRITE_MS`. */
  flush(callback: () => void): void {
    const timer = setTimeout(callback, LAST_WRITE_MS);
    this.#onIdle.push(() => {
      clearTimeout(timer);
      callback();
    });
    this.#writeAll();
  }

  /** Writes as much of the backlog as possible synchronously, for a process that exits. */
  flushSync(): void {
    // Lines behind an unfinished write cannot overtake it, and could wait forever.
    if (this.#isWriting) return;
    this.#gather();
    try {
      for (let chunk = this.#chunks[0]; chunk !== undefined; chunk = this.#chunks[0]) {
        this.#wrote(writeSync(this.#options.descriptor, chunk));
      }
    } catch {
      // Nothing left to report to.
    }
  }

  #writeAll(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#gather();
    this.#writeNext();
  }

  #gather(): void {
    if (this.#lines.length === 0) return;
    this.#chunks.push(Buffer.from(this.#lines.join('')));
    this.#lines = [];
    this.#linesBytes = 0;
  }

  #writeNext(): void {
    if (this.#isWriting) return;
    const [chunk] = this.#chunks;
    if (chunk === undefined) {
      this.#tellIdle();
      return;
    }
    this.#isWriting = true;
    write(this.#options.descriptor, chunk, (error, bytes) => {
      this.#isWriting = false;
      if (error !== null) {
        this.#noticeFailure(error);
      } else {
        this.#wrote(bytes);
        this.#noticeSuccess();
        this.#writeNext();
      }
    });
  }

  #wrote(bytes: number): void {
    this.#waitingBytes -= bytes;
    const [chunk] = this.#chunks;
    if (chunk === undefined) return;
    if (bytes < chunk.length) this.#chunks[0] = chunk.subarray(bytes);
    else this.#chunks.shift();
  }

  #noticeFailure(error: NodeJS.ErrnoException): void {
    this.#timer ??= setTimeout(() => this.#writeAll(), MAX_BUFFERING_MS).unref();
    // The pipe is non-blocking and full: temporary.
    if (error.code === 'EAGAIN') return;
    if (!this.#hasFailed) this.#options.onFailure(error);
    this.#hasFailed = true;
    this.#tellIdle();
  }

  #noticeSuccess(): void {
    if (!this.#hasFailed && this.#dropped === 0) return;
    const dropped = this.#dropped;
    this.#hasFailed = false;
    this.#dropped = 0;
    this.#options.onRecovery(dropped);
  }

  #tellIdle(): void {
    for (const tell of this.#onIdle.splice(0)) tell();
  }
}
