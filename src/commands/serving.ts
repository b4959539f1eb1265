import { lookup } from 'node:dns/promises';
import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import { PartnerDirectory } from '../access/partner-directory.ts';
import { buildApp } from '../app.ts';
import type { Config } from '../config.ts';
import { openForServing } from '../database/database.ts';
import { openUsageStore } from '../database/usage-store.ts';
import { OwnRequestLimits, WINDOW_SECONDS, type RequestLimits } from '../http/request-counts.ts';
import { CountedLimits } from '../monitoring/counted-limits.ts';
import { LastPublication } from '../monitoring/last-publication.ts';
import { servingMetrics } from '../monitoring/metrics.ts';
import type { ObservedParts } from '../monitoring/observed-parts.ts';
import { Readiness } from '../monitoring/readiness.ts';
import { RequestMetrics } from '../monitoring/request-metrics.ts';
import { readCursorSecret } from '../paging/cursor-secret.ts';
import { redisNamespace } from '../redis/namespace.ts';
import type { SharedLimits } from '../redis/shared-limits.ts';
import { UsageRecorder } from '../usage/usage-recorder.ts';
import { CommandError } from './command-error.ts';
import { boundConnections } from './descriptor-limit.ts';
import { startTracing } from './tracing.ts';

/**
 * Connections that wait to be accepted. One more is not answered by the system, and its client tries again after one, two and
 * four seconds: with Node's 511, some clients of a rush waited for all of these. The system has a bound of its own.
 */
const MOST_UNACCEPTED = 4_096;

/** A server that listens. */
export interface Serving {
  /** Such as `http://127.0.0.1:8080`. */
  readonly origin: string;
  readonly readiness: Readiness;
  readonly metrics: Registry;
  /**
   * Is not ready from then on, and closes everything after a while in which connections are still accepted, and after
   * all requests in flight were answered.
   */
  close(): Promise<void>;
}

export interface ServingOptions {
  /** How many processes were started together, this one included. */
  readonly workers?: number;
  /** Where requests are counted without Redis; in this process where nothing is said. */
  readonly limits?: RequestLimits;
}

/**
 * Opens the database for reading, and answers requests.
 *
 * @throws CommandError, or what the database or the system says, where it cannot start.
 */
export async function startServing(
  config: Config,
  logger: Logger,
  { workers = 1, limits = new OwnRequestLimits() }: ServingOptions = {},
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
  const shared = await startSharedLimits(config, logger, cursorSecret, workers);
  opened.defer(() => shared?.close());
  const counted = new CountedLimits(shared ?? limits);
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
    answerCache: app.answerCache,
    limits: counted,
    lastPublication: new LastPublication(database, directory),
    servers: database.servers,
    sharedLimits: shared ?? undefined,
    usageFlushFailures: () => usage.state.failedWrites,
    shedRequests: () => app.admission.refused,
  };
  const readiness = new Readiness(database, parts);
  boundConnections(app.server, logger);
  const host = await resolveHost(config.host, 'PDS_HOST or --host');
  await app.listen({ host, port: config.port, backlog: MOST_UNACCEPTED });
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

/** Begins to count in Redis; null where there is none. */
async function startSharedLimits(
  { redisUrl, environment }: Config,
  logger: Logger,
  cursorSecret: Buffer,
  workers: number,
): Promise<SharedLimits | null> {
  if (redisUrl === null) return null;
  // Loaded where it is needed alone: it takes a tenth of a start.
  const { SharedLimits } = await import('../redis/shared-limits.ts');
  const namespace = redisNamespace(cursorSecret, environment);
  const shared = new SharedLimits({
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
 * One address: where a name has two, the framework would open a second server that lacks the listeners of the first.
 *
 * @param setting where the host was named.
 */
export async function resolveHost(host: string, setting: string): Promise<string> {
  try {
    const { address } = await lookup(host, { order: 'ipv4first' });
    return address;
  } catch {
    throw new CommandError(`no address is known for the host "${host}": choose another with ${setting}`);
  }
}
