import cluster from 'node:cluster';
import { once } from 'node:events';
import { createServer } from 'node:net';
import closeWithGrace from 'close-with-grace';
import type { Logger } from 'pino';
import { DEMO_KEY } from '../access/demo-key.ts';
import { PartnerDirectory } from '../access/partner-directory.ts';
import type { Config } from '../config.ts';
import { openForCommands } from '../database/database.ts';
import { isHistoryOther } from '../database/history.ts';
import { prepareSchema, type MigrateOptions } from '../database/migrator.ts';
import type { AdminServer } from '../monitoring/admin-server.ts';
import { registerReady } from '../monitoring/readiness.ts';
import { DOCS_PATH } from '../portal/paths.ts';
import { announceCutOff } from '../publishing/announce.ts';
import { CommandError } from './command-error.ts';
import { hasDatabase, HISTORY_WARNING } from './context.ts';
import { openAdminPort } from './admin-port.ts';
import { loadDemo } from './demo.ts';
import { createLogger, flushLog } from './logger.ts';
import { operatorOfProcess } from './operator.ts';
import { processOutput } from './output.ts';
import { serveAsWorker } from './serve-as-worker.ts';
import { serveWithWorkers } from './serve-with-workers.ts';
import { resolveHost, startServing } from './serving.ts';

/** How long requests in flight can take during shutdown. */
const CLOSE_DEADLINE_MS = 10_000;

export interface ServeOptions {
  /** Fills an empty database with the sample and creates the partner `demo`; only in `dev`. */
  readonly demo: boolean;
  /** The number of processes that serve requests. With one, it is this process itself. */
  readonly workers: number;
}

/**
 * `pds serve`: serves requests until the process is told to stop. Returns once it listens.
 *
 * @throws CommandError, or an error of the database or the system, if it cannot start.
 */
export async function serve(config: Config, { demo, workers }: ServeOptions): Promise<void> {
  if (demo && config.environment !== 'dev') {
    throw new CommandError(
      `--demo publishes a key that everyone knows, so it is for PDS_ENVIRONMENT=dev only; here it is ${config.environment}`,
    );
  }
  const logger = createLogger(config);
  if (cluster.isWorker) return serveAsWorker(config, workers, logger);
  const admin = await openAdminPort(config, logger);
  try {
    // A failed start creates no database.
    if (!(await hasDatabase(config, 'serve'))) await checkPort(config);
    const hasDemoKey = await prepareDatabase(config, demo, logger);
    const origin =
      workers > 1
        ? await serveWithWorkers(config, workers, logger, admin)
        : await serveFromThisProcess(config, logger, admin);
    if (demo || process.stdout.isTTY) greet(origin, config, demo ? hasDemoKey : null);
  } catch (error) {
    await admin.close();
    throw error;
  }
}

async function serveFromThisProcess(config: Config, logger: Logger, admin: AdminServer): Promise<string> {
  const serving = await startServing(config, logger);
  const { readiness, metrics } = serving;
  registerReady(metrics, () => readiness.read());
  admin.show({ readReadiness: () => readiness.read(), readMetrics: () => metrics.metrics() });
  closeWithGrace({ delay: CLOSE_DEADLINE_MS, logger }, async ({ err, signal }) => {
    if (err !== undefined) logger.fatal({ err }, 'ending after an unexpected error');
    else logger.info({ signal }, 'ending');
    await serving.close();
    await admin.close();
    await flushLog(logger);
  });
  return serving.origin;
}

/** @throws the system's error if the port for partners cannot be opened now. */
async function checkPort({ host, port }: Config): Promise<void> {
  const server = createServer();
  server.listen({ host: await resolveHost(host, 'PDS_HOST or --host'), port });
  await once(server, 'listening');
  server.close();
  await once(server, 'close');
}

/**
 * Migrates the schema and loads the demo data; done once, before the database is opened for reading.
 *
 * @returns whether the database has the demo key.
 */
async function prepareDatabase(config: Config, demo: boolean, logger: Logger): Promise<boolean> {
  const database = openForCommands(config.database, operatorOfProcess(config));
  try {
    const migrations = await prepareSchema(database, Date.now, 'serve', logMigrations(logger));
    if (migrations.length > 0) logger.info({ migrations }, 'prepared the database');
    const cutOff = await announceCutOff(database);
    if (cutOff !== null)
      logger.info({ publication: cutOff }, 'announced a publication whose import was cut off just before its end');
    if (await isHistoryOther(database)) logger.warn(HISTORY_WARNING);
    if (!demo) return false;
    await loadDemo(database, Date.now);
    const directory = new PartnerDirectory({ ...config, database, clock: Date.now, logger });
    return (await directory.findByKey(DEMO_KEY)) !== null;
  } finally {
    await database.close();
  }
}

/** How often the progress of a long migration is logged. */
const PROGRESS_INTERVAL_MS = 5_000;

function logMigrations(logger: Logger): MigrateOptions {
  let loggedAtMs = performance.now();
  return {
    onWaiting: () => logger.info('waiting for an import or another migration, up to a minute'),
    onProgress: ({ done, total, what }) => {
      if (performance.now() - loggedAtMs < PROGRESS_INTERVAL_MS) return;
      loggedAtMs = performance.now();
      logger.info({ step: what, percent: Math.floor((100 * done) / Math.max(1, total)) }, 'migrating the database');
    },
  };
}

/** @param hasDemoKey null without `--demo`. */
function greet(origin: string, config: Config, hasDemoKey: boolean | null): void {
  const output = processOutput(false);
  output.note(`Serving (${config.environment}) at ${origin}, documentation at ${origin}${DOCS_PATH}. Ctrl-C ends it.`);
  if (hasDemoKey === null) return;
  output.note(
    hasDemoKey
      ? ['Try it:', '', `  curl -H 'Authorization: Bearer ${DEMO_KEY}' '${origin}/v1/contracts?q=asphalt&limit=1'`, '']
      : 'This database was not empty, so --demo left it as it was: ask with a key of your own.',
  );
}
