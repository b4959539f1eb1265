import type { Logger } from 'pino';
import { RateLimiterClusterMaster } from 'rate-limiter-flexible';
import type { Config } from '../../config.ts';
import type { AdminServer } from '../../monitoring/admin-server.ts';
import { OperatorError } from '../../operator-error.ts';
import { poolView, WorkerReports } from '../../workers/worker-reports.ts';
import { WorkerPool } from '../../workers/worker-pool.ts';
import type { LogFormat } from '../../settings.ts';
import { processOutput } from '../output/output.ts';
import { closeAtEnd, resolveHost } from './serving.ts';

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
