import { pino, type Logger } from 'pino';
import type { Config } from '../config.ts';
import { LogOutput } from './log-output.ts';
import { processOutput } from './output.ts';

/** The log of a serving process: JSON lines on stdout, written in the background, at most a tenth of a second late. */
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

/** Waits until the log is written, if possible, for up to a second. */
export function flushLog(logger: Logger): Promise<void> {
  return new Promise((resolve) => logger.flush(() => resolve()));
}
