import { setTimeout as delay } from 'node:timers/promises';
import { pino, type DestinationStream, type Logger } from 'pino';
import type { Config } from '../../config.ts';
import { printableJson } from '../../printable.ts';
import type { LogFormat } from '../../settings.ts';
import { processOutput } from './output.ts';

/**
 * The log of a serving process, on stdout. JSON lines are written in the background, at most 20 milliseconds late.
 *
 * @returns `release`, to call when the start has been reported: lines for people appear below that.
 */
export async function createLog({ logLevel: level }: Config, format: LogFormat) {
  if (format === 'pretty' || (format === 'auto' && process.stdout.isTTY)) {
    const { openTerminalLog } = await import('./terminal-log.ts');
    const log = openTerminalLog(process.stdout);
    process.once('exit', log.release);
    return { logger: pino({ level }, log), release: log.release };
  }
  const output = openLogOutput((droppedLines) => logger.warn({ droppedLines }, 'the log can be written again'));
  const logger = pino({ level }, output);
  return { logger, release: () => undefined };
}

/** Waits until the log is written, if possible, for up to a second. */
export async function flushLog(logger: Logger): Promise<void> {
  const flushed = new Promise<void>((resolve) => logger.flush(() => resolve()));
  await Promise.race([flushed, delay(LAST_WRITE_MS)]);
}

/** Bytes of a write. Each write wakes a thread, so it is large. */
const MAX_WRITE_BYTES = 65_536;

/** Lines are written once this part of a write is full, or after this delay. */
const FULL_PART = 0.85;
const MAX_BUFFERING_MS = 20;

/** Maximum backlog while the disk is full or the reader stalls; further lines are dropped and counted. */
const MAX_WAITING_BYTES = 4 * 1024 * 1024;

const RETRY_MS = 250;

const LAST_WRITE_MS = 1_000;

/**
 * Writes the log to standard output through pino's destination, and never throws or blocks: the service continues
 * without its log while the disk is full, or the reader stalled or gone, which it notes on stderr once. `onRecovery` is
 * called when a write succeeds after that, or after lines were dropped.
 */
function openLogOutput(onRecovery: (droppedLines: number) => void): DestinationStream {
  let dropped = 0;
  let waitingBytes = 0;
  let hasFailed = false;
  let hasWritten = false;
  let isExiting = false;
  let timer: NodeJS.Timeout | undefined;
  const destination = pino.destination({
    dest: 1,
    maxWrite: MAX_WRITE_BYTES,
    minLength: Math.floor(FULL_PART * MAX_WRITE_BYTES),
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
  // A flush during a write does nothing, so lines that arrived meanwhile would wait for the next one.
  destination.on('drain', () => {
    if (waitingBytes > 0) writeSoon();
  });
  destination.on('error', (error: Error) => {
    if (!hasFailed)
      processOutput(false).note(`warning: the log cannot be written (${error.message}); requests are served normally`);
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
  const write = destination.write.bind(destination);
  destination.write = (json) => {
    const line = printableJson(json);
    waitingBytes += Buffer.byteLength(line);
    writeSoon();
    return write(line);
  };
  return destination;
}
