import { pino, type Logger } from 'pino';
import type { Config } from '../../config.ts';
import type { LogFormat } from './log-format.ts';
import { openLogOutput } from './log-output.ts';
import { processOutput } from './output.ts';

export interface ServiceLog {
  readonly logger: Logger;
  /** Call it when the start has been reported: lines for people appear below that. */
  release(): void;
}

/**
 * The log of a serving process, on stdout. JSON lines are written in the background, at most 20 milliseconds late.
 *
 * @param isShared whether other processes write to the same output.
 */
export async function createLog(
  { logLevel: level }: Config,
  format: LogFormat,
  { isShared }: { isShared: boolean },
): Promise<ServiceLog> {
  if (format === 'pretty' || (format === 'auto' && process.stdout.isTTY)) {
    const { TerminalLog } = await import('./terminal-log.ts');
    const log = new TerminalLog(process.stdout);
    process.once('exit', () => log.release());
    return { logger: pino({ level }, log), release: () => log.release() };
  }
  const output = openLogOutput({
    isShared,
    onFailure: ({ message }) =>
      processOutput(false).note(`warning: the log cannot be written (${message}); requests are served normally`),
    onRecovery: (droppedLines) => logger.warn({ droppedLines }, 'the log can be written again'),
  });
  const logger = pino({ level }, output);
  return { logger, release: () => undefined };
}

/** Waits until the log is written, if possible, for up to a second. */
export function flushLog(logger: Logger): Promise<void> {
  return new Promise((resolve) => logger.flush(() => resolve()));
}
