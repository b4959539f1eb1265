import closeWithGrace from 'close-with-grace';
import type { Logger } from 'pino';
import type { Config } from '../config.ts';
import { WINDOW_SECONDS } from '../http/request-counts.ts';
import type { AdminServer } from '../monitoring/admin-server.ts';
import { LeaseLedger } from '../workers/lease-ledger.ts';
import { poolView } from '../workers/pool-view.ts';
import { WorkerPool } from '../workers/worker-pool.ts';
import { WorkerReports } from '../workers/worker-reports.ts';
import { CommandError } from './command-error.ts';
import { flushLog } from './logger.ts';
import { processOutput } from './output.ts';
import { resolveHost } from './serving.ts';

/** How long requests in flight can take during shutdown. */
const CLOSE_DEADLINE_MS = 10_000;

/**
 * The primary process of `pds serve --workers`: starts the workers, replaces those that die, and counts requests for
 * all of them unless Redis does. It serves no partner requests itself. Its admin port presents all workers as one
 * service.
 *
 * @returns the workers' address, once all of them serve requests.
 * @throws CommandError if a worker cannot start.
 */
export async function serveWithWorkers(
  config: Config,
  workers: number,
  logger: Logger,
  admin: AdminServer,
): Promise<string> {
  const ledger = new LeaseLedger({
    windowSeconds: WINDOW_SECONDS,
    workers,
    send: (worker, message) => pool.send(worker, message),
    onSilence: (worker) => logger.warn({ worker }, 'a worker holds leases of requests and does not give them back'),
  });
  const reports = new WorkerReports((worker, look) => pool.send(worker, look));
  // Looked up once: the next lookup could return another address.
  const host = await resolveHost(config.host, 'PDS_HOST or --host');
  const pool = new WorkerPool({
    size: workers,
    args: ['serve', '--workers', String(workers), '--host', host, '--port', String(config.port)],
    logger,
    onMessage: (worker, message) => {
      if (message.type === 'report') reports.receive(worker, message);
      else ledger.receive(worker, message);
    },
    onGone: (worker) => {
      ledger.forget(worker);
      reports.forget(worker);
    },
    onLost: (reason) => {
      processOutput(false).note(`error: ${reason}`);
      process.exit(1);
    },
  });
  process.once('exit', () => pool.kill());
  admin.show(poolView(pool, reports));
  // From here on, since the first worker may serve partners while others still start.
  const grace = closeWithGrace({ delay: CLOSE_DEADLINE_MS, logger }, async ({ err, signal }) => {
    if (err !== undefined) logger.fatal({ err }, 'ending after an unexpected error');
    else logger.info({ signal }, 'ending');
    await pool.end();
    await admin.close();
    await flushLog(logger);
  });
  try {
    const origin = await pool.start();
    logger.info({ workers }, 'all workers answer requests');
    return origin;
  } catch (error) {
    // It would take this process's end for a requested shutdown.
    grace.uninstall();
    pool.kill();
    throw new CommandError(error instanceof Error ? error.message : String(error));
  }
}
