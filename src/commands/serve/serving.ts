import { lookup } from 'node:dns/promises';
import closeWithGrace from 'close-with-grace';
import type { Logger } from 'pino';
import { keyEnvironmentOf } from '../../access/keys.ts';
import { PartnerDirectory } from '../../access/partner-directory.ts';
import { buildApp } from '../../app.ts';
import type { Config } from '../../config.ts';
import { openForServing } from '../../database/open.ts';
import { openUsageStore } from '../../usage/usage-store.ts';
import { InMemoryRateLimiter, WINDOW_SECONDS, RequestLimits } from '../../rate-limiting/request-limits.ts';
import { Readiness } from '../../monitoring/readiness.ts';
import { processMetrics } from '../../monitoring/metrics.ts';
import { requestMetrics } from '../../http/request/observers.ts';
import { registerServingMetrics } from '../../monitoring/serving-metrics.ts';
import { OperatorError } from '../../operator-error.ts';
import { readCursorSecret } from '../../http/request/page-parameters.ts';
import { UsageRecorder } from '../../usage/usage-recorder.ts';
import { flushLog } from '../output/logger.ts';
import { readFileSync } from 'node:fs';
import type { Server } from 'node:http';
import { MAX_ADMIN_CONNECTIONS } from '../../monitoring/admin-server.ts';
import { throttleWarning } from '../../throttle-warning.ts';

/**
 * The listen backlog. The system drops further connection attempts, and clients retry after one, two and four seconds:
 * with Node's 511, some clients of a rush waited through all three. The system has its own limit too.
 */
const MAX_UNACCEPTED_CONNECTIONS = 4_096;

export type Serving = Awaited<ReturnType<typeof startServing>>;

/** Opens the database for reading, and serves requests. @throws as `serve`, if it cannot start. */
export async function startServing(config: Config, logger: Logger) {
  await using opened = new AsyncDisposableStack();
  const database = opened.use(openForServing(config.database, config.replicaUrl));
  const directory = new PartnerDirectory({ ...config, database, clock: Date.now, logger });
  opened.defer(() => directory.stop());
  const usage = new UsageRecorder({
    store: openUsageStore(config.database, database),
    clock: Date.now,
    logger,
    retentionDays: config.usageRetentionDays,
  });
  opened.defer(() => usage.stop());
  await directory.start();
  const cursorSecret = await readCursorSecret(database);
  const shared = await countInRedis(config, logger, cursorSecret);
  opened.defer(() => shared?.close());
  const limits = new RequestLimits(shared ?? new InMemoryRateLimiter());
  const metrics = processMetrics();
  const observers = [requestMetrics(metrics), usage.observe];
  const app = await buildApp({ config, database, clock: Date.now, directory, cursorSecret, logger, observers }, limits);
  opened.defer(() => app.close());
  const readiness = new Readiness(database, { directory, redisRateLimiter: shared });
  boundConnections(app.server, logger);
  const { port, reusePort } = config;
  const host = await resolveHost(config.host, 'PDS_HOST or --host');
  // The type of the framework's options lacks `reusePort`, which it passes on to Node.
  const address = { host, port, reusePort, backlog: MAX_UNACCEPTED_CONNECTIONS };
  await app.listen(address);
  usage.start();
  registerServingMetrics(metrics, database, {
    directory,
    usage,
    readiness,
    app,
    limits,
    redisRateLimiter: shared,
    keyEnvironment: keyEnvironmentOf(config.environment),
    clock: Date.now,
  });
  const everything = opened.move();
  return {
    origin: app.listeningOrigin,
    readiness,
    metrics,
    async close(): Promise<void> {
      // Report "not ready" first, so that load balancers stop before the listener closes.
      readiness.drain();
      await app.linger();
      await everything.disposeAsync();
    },
  };
}

async function countInRedis({ redisUrl, environment }: Config, logger: Logger, cursorSecret: Buffer) {
  if (redisUrl === null) return null;
  // Loaded only if used: it takes a tenth of the startup time.
  const { redisNamespace, RedisRateLimiter } = await import('../../rate-limiting/redis-rate-limiter.ts');
  const namespace = redisNamespace(cursorSecret, environment);
  return RedisRateLimiter.start({ redisUrl, namespace, windowSeconds: WINDOW_SECONDS, logger });
}

/** How long shutdown can take. Requests still in flight are cut before (`WAITS.drainMs`). */
const CLOSE_DEADLINE_MS = 10_000;

/** Calls `close` after a signal or an unexpected error, and then writes the last of the log. */
export function closeAtEnd(logger: Logger, close: () => Promise<void>): ReturnType<typeof closeWithGrace> {
  return closeWithGrace({ delay: CLOSE_DEADLINE_MS, logger }, async ({ err, signal }) => {
    if (err !== undefined) logger.fatal({ err }, 'stopping after an unexpected error');
    else logger.info({ signal }, 'stopping');
    await close();
    await flushLog(logger);
  });
}

/**
 * Resolves a host to one address: for a name with two, the framework would open a second server, without the listeners
 * of the first.
 *
 * @param setting the setting that names the host, for the error message.
 * @throws OperatorError if it has no address.
 */
export async function resolveHost(host: string, setting: string): Promise<string> {
  try {
    const { address } = await lookup(host, { order: 'ipv4first' });
    return address;
  } catch {
    throw new OperatorError(`cannot resolve the host "${host}". Correct it with ${setting}`);
  }
}

/** Descriptors reserved for the database, the log, admin connections and other files. */
const RESERVED_DESCRIPTORS = 64 + MAX_ADMIN_CONNECTIONS;

/**
 * Limits connections so that descriptors remain for the rest of the service. Connections beyond the limit are closed at
 * once, and logged. Without a limit, Node silently closes new connections when descriptors run out, and the service
 * cannot reconnect to the database either.
 */
function boundConnections(server: Server, logger: Pick<Logger, 'warn'>): void {
  const limit = readDescriptorLimit();
  if (limit === null) return;
  server.maxConnections = Math.max(limit - RESERVED_DESCRIPTORS, Math.floor(limit / 4));
  const warn = throttleWarning((refused) => {
    const details = { refused, open: server.maxConnections, descriptors: limit };
    logger.warn(details, 'refusing connections: the limit on open files is reached');
  });
  server.on('drop', warn);
}

/** This process's limit of open files and sockets; null if unknown or unlimited. */
function readDescriptorLimit(): number | null {
  try {
    // Node raises the soft limit to the hard one at startup.
    const soft = /^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1];
    return soft === undefined ? null : Number(soft);
  } catch {
    return null;
  }
}
