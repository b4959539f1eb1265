import type { Logger } from 'pino';
import { RateLimiterClusterMaster, RateLimiterCluster } from 'rate-limiter-flexible';
import type { Config } from '../../config.ts';
import type { AdminServer } from '../../monitoring/admin-server.ts';
import { OperatorError } from '../../operator-error.ts';
import { poolView, WorkerReports } from '../../workers/worker-reports.ts';
import { WorkerPool, type ReportRequest, type ToPrimary, type ToWorker } from '../../workers/worker-pool.ts';
import type { LogFormat } from '../../settings.ts';
import { processOutput } from '../output/output.ts';
import { closeAtEnd, resolveHost, startServing } from './serving.ts';
import cluster from 'node:cluster';
import closeWithGrace from 'close-with-grace';
import { withoutKeys } from '../../access/keys.ts';
import { WINDOW_SECONDS } from '../../rate-limiting/request-limits.ts';
import { SharedRateLimiter } from '../../rate-limiting/shared-rate-limiter.ts';
import { describeFailure } from '../output/failure.ts';
import { flushLog } from '../output/logger.ts';

/**
 * The primary process of `pds serve --workers`: starts the workers, replaces those that die, and counts requests for
 * all of them unless Redis does. It serves no partner requests itself. Its admin port presents all workers as one
 * service.
 *
 * @returns the workers' address, once all of them serve requests.
 * @throws OperatorError if a worker cannot start.
 */
export async function serveWithWorkers(
  config: Config,
  { workers, logFormat }: { workers: number; logFormat: LogFormat },
  logger: Logger,
  admin: AdminServer,
): Promise<string> {
  // Counts the requests that the workers send it, through a listener of `cluster`.
  new RateLimiterClusterMaster();
  const reports = new WorkerReports((worker, request) => pool.send(worker, request));
  // Looked up once: the next lookup could return another address.
  const host = await resolveHost(config.host, 'PDS_HOST or --host');
  const pool = new WorkerPool({
    size: workers,
    args: [
      ...['serve', '--workers', String(workers), '--host', host, '--port', String(config.port)],
      ...['--admin-port', String(config.adminPort), '--log-format', logFormat],
    ],
    logger,
    onReport: (worker, report) => reports.receive(worker, report),
    onGone: (worker) => reports.forget(worker),
    onLost: (reason) => {
      processOutput(false).note(`error: ${reason}`);
      process.exit(1);
    },
  });
  process.once('exit', () => pool.kill());
  admin.show(poolView(pool, reports));
  // From here on, since the first worker may serve partners while others still start.
  const grace = closeAtEnd(logger, async () => {
    await pool.end();
    await admin.close();
  });
  try {
    const origin = await pool.start();
    logger.info({ workers }, 'all workers are serving');
    return origin;
  } catch (error) {
    // Its handlers would treat the exit as a requested shutdown.
    grace.uninstall();
    pool.kill();
    throw new OperatorError(error instanceof Error ? error.message : String(error));
  }
}

/** How long requests wait for the primary process to count them. */
const PRIMARY_TIMEOUT_MS = 1_000;

/** Shorter than the primary's deadline, since the primary waits for this process, and longer than `WAITS.drainMs`. */
const CLOSE_DEADLINE_MS = 9_500;

/**
 * Service managers and terminals signal the whole process group, and the primary signals its workers too. One shutdown
 * arrives as two signals, and a second one usually cuts requests off.
 */
const SIGNALS = ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGQUIT'] as const;

/**
 * A worker process of `pds serve --workers`: serves requests, which the primary counts unless Redis does. If it cannot
 * start, it reports the reason to the primary and exits.
 */
export async function serveAsWorker(config: Config, logger: Logger): Promise<undefined> {
  const rateLimiter = new SharedRateLimiter({
    limiter: new RateLimiterCluster({
      keyPrefix: 'requests',
      points: 0,
      duration: WINDOW_SECONDS,
      timeoutMs: PRIMARY_TIMEOUT_MS,
    }),
    counter: 'the primary process',
    isConnected: () => process.connected,
    reasonOf: (error) => (error instanceof Error ? error.message : 'unknown'),
    logger,
  });
  let end = (): void => process.exit(0);
  const cannotReport = (error: unknown): void => logger.error({ err: error }, 'a worker cannot report its state');
  let report: (request: ReportRequest) => Promise<void> = async () => undefined;
  process.on('message', (message: ToWorker) => {
    if (message.type === 'end') end();
    else if (message.type === 'report') report(message).catch(cannotReport);
  });
  // Sending to a dead primary fails; 'disconnect' handles that.
  cluster.worker?.on('error', () => undefined);
  cluster.worker?.once('disconnect', () => {
    // Otherwise this process would exit at once, in the middle of its responses.
    if (cluster.worker !== undefined) cluster.worker.exitedAfterDisconnect = true;
    logger.warn('stopping because the primary process has exited');
    end();
  });
  for (const signal of SIGNALS) process.on(signal, () => end());
  try {
    const serving = await startServing(config, logger, rateLimiter);
    const grace = closeWithGrace({ delay: CLOSE_DEADLINE_MS, logger, skip: [...SIGNALS] }, async ({ err }) => {
      if (err !== undefined) logger.fatal({ err }, 'stopping after an unexpected error');
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
      sendToPrimary({ type: 'report', number, readiness, metrics });
    };
    sendToPrimary({ type: 'serving', origin: serving.origin });
  } catch (error) {
    const message = withoutKeys(describeFailure(error, config.database));
    sendToPrimary({ type: 'failed', message }, () => process.exit(1));
  }
}

/** Does nothing if the primary is gone; 'disconnect' handles that. */
function sendToPrimary(message: ToPrimary, onSent: () => void = () => undefined): void {
  if (process.connected) process.send?.(message, undefined, undefined, onSent);
  else onSent();
}
