import { pino, type DestinationStream } from 'pino';
import { printableJson } from '../../printable.ts';

/**
 * Bytes of a write. Several processes that share a descriptor write no more than is atomic on a pipe (`PIPE_BUF` on
 * Linux), so that their lines do not mix. Each write wakes a thread, so a process that is alone writes much at once.
 */
const MAX_WRITE_BYTES = { shared: 4_096, alone: 65_536 };

/** Lines are written once this part of a write is full, or after this delay. */
const FULL_PART = 0.85;
const MAX_BUFFERING_MS = 20;

/** Maximum backlog while the disk is full or the reader stalls; further lines are dropped and counted. */
const MAX_WAITING_BYTES = 4 * 1024 * 1024;

/** How often a failed write is tried again. */
const RETRY_MS = 250;

/** How long shutdown waits for the last lines. */
const LAST_WRITE_MS = 1_000;

interface LogOutputOptions {
  /** Whether other processes write to the same descriptor. */
  readonly isShared: boolean;
  /** Called once when writing fails, with the reason. */
  readonly onFailure: (error: Error) => void;
  /** Called when writing succeeds again, also after a stalled reader, with the number of dropped lines. */
  readonly onRecovery: (droppedLines: number) => void;
}

/** The destination of a log. Never throws or blocks. */
export interface LogOutput extends DestinationStream {
  /** Calls back when the backlog is written, has failed or takes longer than a second. */
  readonly flush: (callback: () => void) => void;
}

/**
 * Writes the log to standard output through pino's destination. The service keeps running without its log, and logging
 * resumes when possible: after a full disk, a stalled reader or none.
 */
export function openLogOutput({ isShared, onFailure, onRecovery }: LogOutputOptions): LogOutput {
  const maxWrite = isShared ? MAX_WRITE_BYTES.shared : MAX_WRITE_BYTES.alone;
  let dropped = 0;
  let waitingBytes = 0;
  let hasFailed = false;
  let hasWritten = false;
  let isExiting = false;
  let timer: NodeJS.Timeout | undefined;
  const destination = pino.destination({
    dest: 1,
    maxWrite,
    minLength: Math.floor(FULL_PART * maxWrite),
    maxLength: MAX_WAITING_BYTES,
    // Otherwise a stalled reader would keep the process from exiting.
    retryEAGAIN: () => !isExiting,
  });
  // It would give up for good if a reader is gone.
  destination.removeAllListeners('error');
  // The destination's own timer would write even if there is nothing to write.
  const writeSoon = (): void => {
    timer ??= setTimeout(
      () => {
        timer = undefined;
        destination.flush();
      },
      hasFailed ? RETRY_MS : MAX_BUFFERING_MS,
    ).unref();
  };
  destination.on('drop', (line: string) => {
    dropped += 1;
    waitingBytes -= Buffer.byteLength(line);
  });
  // A flush during a write does nothing, and what came meanwhile would wait for the next line.
  destination.on('drain', () => {
    if (waitingBytes > 0) writeSoon();
  });
  destination.on('error', (error: Error) => {
    if (!hasFailed) onFailure(error);
    hasFailed = true;
    writeSoon();
  });
  destination.on('write', (bytes: number) => {
    if (bytes === 0) return;
    waitingBytes -= bytes;
    hasWritten = true;
    if (!hasFailed && dropped === 0) return;
    const droppedLines = dropped;
    hasFailed = false;
    dropped = 0;
    onRecovery(droppedLines);
  });
  // pino calls it at exit, and it would retry a failing write forever.
  const flushSync = destination.flushSync.bind(destination);
  destination.flushSync = () => {
    isExiting = true;
    try {
      if (hasWritten && !hasFailed) flushSync();
    } catch {
      // Nothing left to report to.
    }
  };
  return {
    write(json) {
      const line = printableJson(json);
      waitingBytes += Buffer.byteLength(line);
      destination.write(line);
      writeSoon();
    },
    flush(callback) {
      const deadline = setTimeout(callback, LAST_WRITE_MS);
      destination.flush(() => {
        clearTimeout(deadline);
        callback();
      });
    },
  };
}
