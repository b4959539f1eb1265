import { lookup } from 'node:dns/promises';
import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import { PartnerDirectory } from '../access/partner-directory.ts';
import { buildApp } from '../app.ts';
import type { Config } from '../config.ts';
import { openForServing } from '../database/database.ts';
import { openUsageStore } from '../database/usage-store.ts';
import { InMemoryRateLimiter, WINDOW_SECONDS, type RateLimiter } from '../http/request-counts.ts';
import { InstrumentedRateLimiter } from '../monitoring/instrumented-rate-limiter.ts';
import { LastPublication } from '../monitoring/last-publication.ts';
import { servingMetrics } from '../monitoring/metrics.ts';
import type { ObservedParts } from '../monitoring/observed-parts.ts';
import { Readiness } from '../monitoring/readiness.ts';
import { RequestMetrics } from '../monitoring/request-metrics.ts';
import { readCursorSecret } from '../paging/cursor-secret.ts';
import { redisNamespace } from '../redis/namespace.ts';
import type { RedisRateLimiter } from '../redis/redis-rate-limiter.ts';
import { UsageRecorder } from '../usage/usage-recorder.ts';
import { CommandError } from './command-error.ts';
import { boundConnections } from './descriptor-limit.ts';
import { startTracing } from './tracing.ts';

/**
 * The listen backlog. The system drops further connection attempts, and clients retry after one, two and four seconds:
 * with Node's 511, some clients of a rush waited through all three. The system has its own limit too.
 */
const MAX_UNACCEPTED_CONNECTIONS = 4_096;

/** A listening server. */
export interface Serving {
  /** Such as `http://127.0.0.1:8080`. */
  readonly origin: string;
  readonly readiness: Readiness;
  readonly metrics: Registry;
  /**
   * Reports "not ready", accepts connections for a while longer, completes the requests in flight, and closes
   * everything.
   */
  close(): Promise<void>;
}

export interface ServingOptions {
  /** The number of processes started together, including this one. */
  readonly workers?: number;
  /** The rate limiter without Redis; by default in this process's memory. */
  readonly rateLimiter?: RateLimiter;
}

/**
 * Opens the database for reading, and serves requests.
 *
 * @throws CommandError, or an error of the database or the system, if it cannot start.
 */
export async function startServing(
  config: Config,
  logger: Logger,
  { workers = 1, rateLimiter = new InMemoryRateLimiter() }: ServingOptions = {},
): Promise<Serving> {
  await using opened = new AsyncDisposableStack();
  const tracing = await startTracing(config, logger);
  opened.defer(() => tracing?.close());
  const plain = openForServing(config.database, config.replicaUrls);
  opened.defer(() => plain.close());
  const database = tracing?.traceStatements(plain) ?? plain;
  const directory = new PartnerDirectory({ ...config, database, clock: Date.now, logger });
  opened.defer(() => directory.stop());
  const usage = new UsageRecorder({
    ...{ store: openUsageStore(config.database, database), clock: Date.now, logger },
    retentionDays: config.usageRetentionDays,
  });
  opened.defer(() => usage.stop());
  await directory.start();
  const cursorSecret = await readCursorSecret(database);
  const shared = await startRedisRateLimiter(config, logger, cursorSecret, workers);
  opened.defer(() => shared?.close());
  const counted = new InstrumentedRateLimiter(shared ?? rateLimiter);
  const requests = new RequestMetrics();
  const observers = [requests.observe, usage.observe, ...(tracing === null ? [] : [tracing.observe])];
  const app = await buildApp(
    { config, database, clock: Date.now, directory, cursorSecret, logger, observers },
    counted,
  );
  opened.defer(() => app.close());
  tracing?.follow(app.server);
  const parts: ObservedParts = {
    directory,
    responseCache: app.responseCache,
    rateLimiter: counted,
    lastPublication: new LastPublication(database, directory),
    servers: database.servers,
    redisRateLimiter: shared ?? undefined,
    usageFlushFailures: () => usage.state.failedWrites,
    shedRequests: () => app.admission.refused,
  };
  const readiness = new Readiness(database, parts);
  boundConnections(app.server, logger);
  const host = await resolveHost(config.host, 'PDS_HOST or --host');
  await app.listen({ host, port: config.port, backlog: MAX_UNACCEPTED_CONNECTIONS });
  usage.start();
  const everything = opened.move();
  return {
    origin: app.listeningOrigin,
    readiness,
    metrics: servingMetrics(database.engine, requests, parts),
    async close() {
      // Report "not ready" first, so that load balancers stop before the listener closes.
      readiness.drain();
      await app.linger();
      await everything.disposeAsync();
    },
  };
}

/** Starts counting in Redis; null if Redis is not configured. */
async function startRedisRateLimiter(
  { redisUrl, environment }: Config,
  logger: Logger,
  cursorSecret: Buffer,
  workers: number,
): Promise<RedisRateLimiter | null> {
  if (redisUrl === null) return null;
  // Loaded only if used: it takes a tenth of the startup time.
  const { RedisRateLimiter } = await import('../redis/redis-rate-limiter.ts');
  const namespace = redisNamespace(cursorSecret, environment);
  const shared = new RedisRateLimiter({
    redisUrl,
    namespace,
    windowSeconds: WINDOW_SECONDS,
    leastProcesses: workers,
    logger,
  });
  await shared.start();
  return shared;
}

/**
 * Resolves a host to one address: for a name with two, the framework would open a second server, without the listeners
 * of the first.
 *
 * @param setting the setting that names the host, for the error message.
 * @throws CommandError if it has no address.
 */
export async function resolveHost(host: string, setting: string): Promise<string> {
  try {
    const { address } = await lookup(host, { order: 'ipv4first' });
    return address;
  } catch {
    throw new CommandError(`no address is known for the host "${host}": choose another with ${setting}`);
  }
}
