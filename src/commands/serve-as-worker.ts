import cluster from 'node:cluster';
import closeWithGrace from 'close-with-grace';
import type { Logger } from 'pino';
import { withoutKeys } from '../access/keys.ts';
import type { Config } from '../config.ts';
import { WINDOW_SECONDS } from '../http/request-counts.ts';
import { WorkerRateLimiter } from '../workers/worker-rate-limiter.ts';
import type { Look, ToPrimary, ToWorker } from '../workers/messages.ts';
import { describeFailure } from './failure.ts';
import { flushLog } from './logger.ts';
import { startServing } from './serving.ts';

/** Shorter than the primary's deadline, since the primary waits for this process. */
const CLOSE_DEADLINE_MS = 9_500;

/**
 * Service managers and terminals signal the whole process group, and the primary signals its workers too. One shutdown
 * arrives as two signals, and a second one usually cuts requests off.
 */
const SIGNALS = ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGQUIT'] as const;

/**
 * A worker process of `pds serve --workers`: serves requests, and leases its share of each rate limit from the primary,
 * unless Redis counts them. If it cannot start, it reports the reason to the primary and exits.
 */
export async function serveAsWorker(config: Config, workers: number, logger: Logger): Promise<void> {
  const leased = new WorkerRateLimiter({ windowSeconds: WINDOW_SECONDS, workers, send: tellPrimary, logger });
  let end = (): void => process.exit(0);
  const cannotReport = (error: unknown): void => logger.error({ err: error }, 'a worker cannot say how it is');
  let report: (look: Look) => Promise<void> = async () => undefined;
  process.on('message', (message: ToWorker) => {
    if (message.type === 'end') end();
    else if (message.type === 'look') report(message).catch(cannotReport);
    else leased.receive(message);
  });
  // Sending to a dead primary fails; 'disconnect' handles that.
  cluster.worker?.on('error', () => undefined);
  cluster.worker?.once('disconnect', () => {
    // Otherwise this process would exit at once, in the middle of its responses.
    if (cluster.worker !== undefined) cluster.worker.exitedAfterDisconnect = true;
    logger.warn('ending, as the primary process is gone');
    leased.countAlone();
    end();
  });
  for (const signal of SIGNALS) process.on(signal, () => end());
  try {
    const serving = await startServing(config, logger, { workers, rateLimiter: leased });
    const grace = closeWithGrace({ delay: CLOSE_DEADLINE_MS, logger, skip: [...SIGNALS] }, async ({ err }) => {
      if (err !== undefined) logger.fatal({ err }, 'ending after an unexpected error');
      await serving.close();
      await flushLog(logger);
    });
    let isEnding = false;
    end = () => {
      if (!isEnding) grace.close();
      isEnding = true;
    };
    report = async ({ number, wantsMetrics }) => {
      const readiness = await serving.readiness.read();
      const metrics = wantsMetrics ? await serving.metrics.getMetricsAsJSON() : null;
      tellPrimary({ type: 'report', number, readiness, metrics });
    };
    tellPrimary({ type: 'serving', origin: serving.origin });
  } catch (error) {
    const message = withoutKeys(describeFailure(error, config.database));
    tellPrimary({ type: 'failed', message }, () => process.exit(1));
  }
}

/** Does nothing if the primary is gone; 'disconnect' handles that. */
function tellPrimary(message: ToPrimary, onSent: () => void = () => undefined): void {
  if (process.connected) process.send?.(message, undefined, undefined, onSent);
  else onSent();
}
