import { once } from 'node:events';
import { createServer } from 'node:net';
import type { Logger } from 'pino';
import manifest from '../../../package.json' with { type: 'json' };
import { DEMO_KEY } from '../../access/keys.ts';
import { PartnerDirectory } from '../../access/partner-directory.ts';
import type { Config } from '../../config.ts';
import { databaseName } from '../../database/configured.ts';
import type { OpenDatabase } from '../../database/database.ts';
import { openForCommands } from '../../database/open.ts';
import { hasTimelineChanged } from '../../database/postgres/timeline.ts';
import { haveCreated, prepareSchema, type MigrateOptions } from '../../database/migrations/migrator.ts';
import { lacksTerms } from '../../index/lacks-terms.ts';
import { startAdminServer } from '../../monitoring/admin-server.ts';
import { OperatorError } from '../../operator-error.ts';
import { DOCS_PATH } from '../../portal/portal.ts';
import { TIMELINE_WARNING, operatorOfProcess } from '../context.ts';
import { backUpBeforeUpgrade } from '../migrating.ts';
import { configOfProcess } from '../run-command.ts';
import { ADMIN_PORT, describeListenError } from '../output/failure.ts';
import type { LogFormat } from '../../settings.ts';
import { createLog } from '../output/logger.ts';
import type { SettingOptions } from '../output/settings-file.ts';
import { renderColumns, type Output } from '../output/output.ts';
import { closeAtEnd, resolveHost, startServing } from './serving.ts';

interface ServeOptions extends SettingOptions {
  readonly demo?: boolean;
  readonly logFormat: LogFormat;
}

/**
 * `pds serve`: serves requests until a signal stops it. Returns once it listens.
 *
 * @throws OperatorError, or an error of the database or the system, if it cannot start.
 */
export async function serve(output: Output, { demo = false, logFormat, ...options }: ServeOptions): Promise<undefined> {
  const config = configOfProcess(options);
  if (demo && config.environment !== 'dev') {
    throw new OperatorError(
      `--demo creates a public key, so it requires PDS_ENVIRONMENT=dev; PDS_ENVIRONMENT is ${config.environment}`,
    );
  }
  const log = await createLog(config, logFormat);
  const { logger } = log;
  const admin = await openAdminPort(config, logger);
  try {
    // First, so that a start that fails logs, creates and changes nothing.
    await checkPort(config);
    logger.info(`admin server at ${admin.origin}: /livez, /readyz, /metrics`);
    const hasDemoKey = await prepareDatabase(config, demo, logger);
    const serving = await startServing(config, logger);
    admin.show(serving);
    closeAtEnd(logger, async () => {
      await serving.close();
      await admin.close();
    });
    if (demo || process.stdout.isTTY) greet(output, config, serving.origin, admin.origin, demo ? hasDemoKey : null);
    log.release();
  } catch (error) {
    await admin.close();
    throw error;
  }
}

/** Comes before anything else, so that readiness probes get a response from the start. */
async function openAdminPort(config: Config, logger: Logger) {
  const { adminHost, adminPort, host, port } = config;
  if (adminPort !== 0 && adminPort === port && adminHost === host) {
    throw new OperatorError(
      `the API and the admin server cannot both use ${host}:${port}. Choose another with PDS_PORT (or --port) or PDS_ADMIN_PORT (or --admin-port)`,
    );
  }
  const address = await resolveHost(adminHost, 'PDS_ADMIN_HOST');
  const listening = startAdminServer({ name: adminHost, address, port: adminPort }, logger);
  return listening.catch((error: unknown) => {
    if (!(error instanceof Error)) throw error;
    throw new OperatorError(describeListenError(error, ADMIN_PORT), { cause: error });
  });
}

/**
 * @throws the system's error if the API's port cannot be opened now. For a shared port, this checks only the host and
 *   whether the system can share ports: another listener would get connections, and lose them when it closes.
 */
async function checkPort({ host, port, reusePort }: Config): Promise<void> {
  const server = createServer();
  server.listen({ host: await resolveHost(host, 'PDS_HOST or --host'), port: reusePort ? 0 : port, reusePort });
  await once(server, 'listening');
  server.close();
  await once(server, 'close');
}

/** Done once, before the database is opened for reading. Returns whether `demo` found or created the demo key. */
async function prepareDatabase(config: Config, demo: boolean, logger: Logger): Promise<boolean> {
  await using database = openForCommands(config.database, operatorOfProcess(config));
  const migrations = await prepareSchema(database, Date.now, 'serve', logMigrations(config, logger));
  if (haveCreated(migrations)) logger.info('database created');
  else if (migrations.length > 0) logger.info({ migrations }, 'database migrated');
  if (await hasTimelineChanged(database)) logger.warn(TIMELINE_WARNING);
  await completeIndexOfSqlite(database, logger);
  if (!demo) return false;
  // Loaded on use, since it needs the importer.
  const { loadDemo } = await import('./demo.ts');
  await loadDemo(database, Date.now);
  const directory = new PartnerDirectory({ ...config, database, clock: Date.now, logger });
  return (await directory.findByKey(DEMO_KEY)) !== null;
}

/** On PostgreSQL, `pds migrate` adds the terms: a service can lack the right to write. A failure does not stop the start. */
async function completeIndexOfSqlite(database: OpenDatabase, logger: Logger): Promise<void> {
  if (database.catalogFiles !== undefined && (await lacksTerms(database))) {
    logger.info('adding terms to the index');
    // Loaded on use, since it needs the importer's code.
    const { completeIndex } = await import('../../recovery/recover.ts');
    await completeIndex(database, { clock: Date.now }).catch((err: unknown) =>
      logger.error({ err }, 'no terms were added'),
    );
  }
  if (!(await lacksTerms(database))) return;
  logger.warn('the index lacks terms: "nigp" and "is_open=true" get 500 until "pds reindex" has run');
}

const PROGRESS_INTERVAL_MS = 5_000;

function logMigrations({ database }: Config, logger: Logger): MigrateOptions {
  let loggedAtMs = performance.now();
  const onProgress: MigrateOptions['onProgress'] = ({ done, total, what }) => {
    if (performance.now() - loggedAtMs < PROGRESS_INTERVAL_MS) return;
    loggedAtMs = performance.now();
    logger.info({ step: what, percent: Math.floor((100 * done) / Math.max(1, total)) }, 'migrating the database');
  };
  return {
    onWaiting: () => logger.info('waiting up to a minute for a running import or migration to finish'),
    onProgress,
    beforeUpgrade: async () => {
      const what = 'Backing up the database';
      const backup = await backUpBeforeUpgrade(database, (done, total) => onProgress({ done, total, what }));
      logger.info({ backup }, 'backed up the database before its upgrade, which cannot be undone');
    },
  };
}

/** @param hasDemoKey null without `--demo`. */
function greet(
  output: Output,
  { environment, database }: Config,
  origin: string,
  adminOrigin: string,
  hasDemoKey: boolean | null,
): void {
  const rows = [
    ['API', `${origin}/v1`],
    ['Portal', `${origin}${DOCS_PATH}`],
    ['Admin', `${adminOrigin}/readyz`],
    ['Database', databaseName(database)],
    ['Stop', 'Ctrl-C'],
  ];
  const tryIt = `curl -H 'Authorization: Bearer ${DEMO_KEY}' '${origin}/v1/contracts?q=asphalt&limit=1'`;
  const demoSteps = hasDemoKey
    ? ['  Try it:', '', `  ${tryIt}`, '']
    : ['  The demo key does not work on this database. Use an API key of your own.', ''];
  output.note([
    '',
    `  ${manifest.name} ${manifest.version} (${environment})`,
    '',
    ...renderColumns(rows).map((row) => `  ${row}`),
    '',
    ...(hasDemoKey === null ? [] : demoSteps),
  ]);
}
