import { write, writeSync } from 'node:fs';
import { printableJson } from '../printable.ts';

/** What a pipe takes in one piece (`PIPE_BUF` of Linux), so that lines of several processes do not mix. */
const LARGEST_WRITE_BYTES = 4_096;

/**
 * Lines are written so many bytes at a time, and whatever there is so often: a write for each
 * line wakes a thread, which takes as long as a tenth of a request.
 */
const GATHERED_BYTES = 3_500;
const LONGEST_GATHERING_MS = 100;

/** What waits while a disk is full or a reader stands still; what comes beyond it is dropped, and counted. */
const MOST_WAITING_BYTES = 4 * 1024 * 1024;

/** How long the end of the process waits for the last lines. */
const LAST_WRITE_MS = 1_000;

export interface LogOutputOptions {
  readonly descriptor: number;
  /** Told once when lines cannot be written, with the reason. */
  onFailure(error: NodeJS.ErrnoException): void;
  /** Told when they can be again, also by a reader that stood still, with how many were dropped meanwhile. */
  onRecovery(droppedLines: number): void;
}

/**
 * Where the log goes. The service goes on without its log, and the log goes on when it can: on a
 * full disk, with a reader that stands still, or with none. pino's own destination ends the process at the
 * first write that fails, and tries the last lines for ever.
 */
export class LogOutput {
  readonly #options: LogOutputOptions;
  /** Whole lines, gathered. */
  readonly #chunks: Buffer[] = [];
  #lines: string[] = [];
  #linesBytes = 0;
  #waitingBytes = 0;
  #dropped = 0;
  #isWriting = false;
  #hasFailed = false;
  #timer: NodeJS.Timeout | undefined;
  /** Called when nothing waits any more, or nothing more can be written. */
  #onIdle: (() => void)[] = [];

  constructor(options: LogOutputOptions) {
    this.#options = options;
  }

  /** Takes a line of JSON, with its end. Never throws, and never waits. */
  write(json: string): void {
    const line = printableJson(json);
    const bytes = Buffer.byteLength(line);
    if (this.#waitingBytes + bytes > MOST_WAITING_BYTES) {
      this.#dropped += 1;
      return;
    }
    if (this.#linesBytes + bytes > LARGEST_WRITE_BYTES) this.#gather();
    this.#lines.push(line);
    this.#linesBytes += bytes;
    this.#waitingBytes += bytes;
    if (this.#hasFailed) return;
    if (this.#linesBytes >= GATHERED_BYTES) this.#gather();
    if (this.#chunks.length > 0) this.#writeNext();
    this.#timer ??= setTimeout(() => this.#writeAll(), LONGEST_GATHERING_MS).unref();
  }

  /** Writes what there is, and calls back when that is done, cannot be done, or takes too long. */
  flush(callback: () => void): void {
    const timer = setTimeout(callback, LAST_WRITE_MS);
    this.#onIdle.push(() => {
      clearTimeout(timer);
      callback();
    });
    this.#writeAll();
  }

  /** Writes what there is at once, for a process that ends: as much as can be. */
  flushSync(): void {
    // What waits behind a write that has not ended cannot go before it, and might wait for ever.
    if (this.#isWriting) return;
    this.#gather();
    try {
      for (let chunk = this.#chunks[0]; chunk !== undefined; chunk = this.#chunks[0]) {
        this.#wrote(writeSync(this.#options.descriptor, chunk));
      }
    } catch {
      // There is nobody left to be told.
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
    this.#timer ??= setTimeout(() => this.#writeAll(), LONGEST_GATHERING_MS).unref();
    // A pipe that others have set not to wait is full: that passes.
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
