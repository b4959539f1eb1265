import { pino, type Logger } from 'pino';
import type { Config } from '../config.ts';
import { LogOutput } from './log-output.ts';
import { processOutput } from './output.ts';

/**
 * The log of a process that serves: JSON lines on stdout, written beside the requests and not
 * between them, a tenth of a second later at most.
 */
export function createLogger(config: Config): Logger {
  const output = new LogOutput({
    descriptor: 1,
    onFailure: ({ message }) =>
      processOutput(false).note(`warning: the log cannot be written (${message}); requests are answered all the same`),
    onRecovery: (droppedLines) => logger.warn({ droppedLines }, 'the log can be written again'),
  });
  process.once('exit', () => output.flushSync());
  const logger = pino({ level: config.logLevel }, output);
  return logger;
}

/** Waits until what was logged is written, as far as it can be. */
export function flushLog(logger: Logger): Promise<void> {
  return new Promise((resolve) => logger.flush(() => resolve()));
}
