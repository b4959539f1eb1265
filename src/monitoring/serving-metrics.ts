import { setTimeout as delay } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';
import type { Registry } from 'prom-client';
import manifest from '../../package.json' with { type: 'json' };
import { findIdleGrants, listGrantedPartners } from '../access/grant-check.ts';
import { listExpiringKeys } from '../access/partner-records.ts';
import type { KeyEnvironment } from '../access/keys.ts';
import type { PartnerDirectory } from '../access/partner-directory.ts';
import { listOwners } from '../access/visibility/owners.ts';
import type { OpenDatabase, ServerState } from '../database/database.ts';
import { readPublishedAt } from '../database/event-log.ts';
import { CHECKED_AT, type Revision } from '../database/revision.ts';
import { LAST_BACKUP, readStoredSetting } from '../database/rows.ts';
import { largestCatalogBytes } from '../database/sqlite/file-names.ts';
import { freeBytes } from '../database/sqlite/sqlite-files.ts';
import type { RedisRateLimiter } from '../rate-limiting/redis-rate-limiter.ts';
import type { RequestLimits } from '../rate-limiting/request-limits.ts';
import type { UsageRecorder } from '../usage/usage-recorder.ts';
import { EPOCH, formatTimestamp, latestOf, type Clock } from '../timestamp.ts';
import { metricsOf, type Reading, type Sample } from './metrics.ts';

/**
 * The parts of a serving process that metrics and readiness observe. Each returns its state from memory. Parts that
 * this process does not have are null, and their metrics have no value.
 */
export interface ObservedParts {
  readonly directory: Pick<PartnerDirectory, 'state' | 'revision'>;
  readonly app: Pick<FastifyInstance, 'admission' | 'openStreams' | 'responseCache'>;
  readonly limits: Pick<RequestLimits, 'limitedRequests' | 'failures'>;
  readonly usage: Pick<UsageRecorder, 'state'>;
  readonly readiness: { read(): Promise<{ readonly reasons: readonly string[] }> };
  readonly keyEnvironment: KeyEnvironment;
  readonly clock: Clock;
  readonly redisRateLimiter: Pick<RedisRateLimiter, 'isShared' | 'fallbacks'> | null;
}

/** Registers the metrics of a process that serves requests, except those counted by `requestMetrics`. */
export function registerServingMetrics(registry: Registry, database: OpenDatabase, parts: ObservedParts): void {
  const { directory, limits, usage, redisRateLimiter, clock } = parts;
  const { admission, openStreams, responseCache } = parts.app;
  const { counter, gauge } = metricsOf(registry);
  const { catalogFiles: files } = database;
  const ofServers = (samplesOf: (server: ServerState) => Sample[]): Reading => database.servers?.().flatMap(samplesOf);
  const ofReplicas = (valueOf: (replica: ServerState) => number | null): Reading =>
    ofServers((server) => {
      const value = server.isReplica ? valueOf(server) : null;
      return value === null ? [] : [{ labels: { replica: server.name }, value }];
    });

  const now = (): string => formatTimestamp(clock());
  const lastRelease = rereadOnRevision(directory, EPOCH, () => readPublishedAt(database));
  const expiringKeys = rereadOnRevision(directory, [], () => listExpiringKeys(database, parts.keyEnvironment, now()));
  const blindPartners = rereadOnRevision(directory, [], async () => {
    const granted = (await listGrantedPartners(database)).filter((partner) => listOwners(partner).length > 0);
    return (await findIdleGrants(database, granted)).filter(({ seesNothing }) => seesNothing);
  });
  const labels = { version: manifest.version, node_version: process.version, engine: database.engine };
  gauge('pds_build_info', 'Always 1; the labels identify the build', () => [{ labels, value: 1 }]);

  counter('pds_limited_requests_total', "Requests over their partner's limit per minute", () =>
    [...limits.limitedRequests].map(([partner, value]) => ({ labels: { partner }, value })),
  );
  counter(
    'pds_failed_authentications_total',
    'Requests without a valid key; "limited" counts those refused after too many from one address',
    () => [
      { labels: { outcome: 'refused' }, value: limits.failures.refused },
      { labels: { outcome: 'limited' }, value: limits.failures.limited },
    ],
  );
  counter('pds_shed_requests_total', 'Requests refused because of overload', () => admission.refused);

  counter('pds_cut_streams_total', 'Streams that were cut before their end', () => openStreams.cutStreams);
  counter('pds_complete_listings_total', 'Listings of changes that had to list every record, by reason', () =>
    [...openStreams.completeListings].map(([reason, value]) => ({ labels: { reason }, value })),
  );

  counter('pds_response_cache_hits_total', 'Responses served from the cache', () => responseCache.hits);
  counter('pds_response_cache_misses_total', 'Responses that were not in the cache', () => responseCache.misses);
  counter('pds_response_cache_evictions_total', 'Cached responses evicted to make room', () => responseCache.evictions);
  gauge('pds_response_cache_entries', 'Cached responses', () => responseCache.responses.size);
  gauge('pds_response_cache_bytes', 'Memory used by cached responses', () => responseCache.responses.calculatedSize);
  gauge('pds_response_cache_max_bytes', 'Memory limit of the response cache', () => responseCache.responses.maxSize);

  gauge('pds_database_up', '1 if the last database poll succeeded (polled every 500 ms)', () =>
    Number(directory.state.isReachable),
  );
  gauge(
    'pds_database_version_age_seconds',
    'Time since the revision was last read; cached data stays valid for 30 s',
    () => directory.state.revisionAgeMs / 1000,
  );
  gauge(
    'pds_last_event_timestamp_seconds',
    'Unix timestamp of the last release or change of partners, keys or grants that this process has noticed',
    () => Date.parse(directory.state.lastEvent) / 1000,
  );
  counter(
    'pds_lost_changes_total',
    'How often changes that a process had read were missing in the database later',
    () => directory.state.losses,
  );
  gauge(
    'pds_last_release_timestamp_seconds',
    'Unix timestamp of the last catalog release; 0 before the first',
    async () => Date.parse(await lastRelease()) / 1000,
  );
  gauge(
    'pds_partner_sees_nothing',
    '1 for a partner whose grants show no contract, solicitation or supplier',
    async () => (await blindPartners()).map(({ partner }) => ({ labels: { partner }, value: 1 })),
  );
  gauge('pds_disk_free_bytes', 'Free space on the disk of SQLite', () => files && freeBytes(files.path));
  gauge('pds_catalog_bytes', 'Size of the largest SQLite catalog', () => files && largestCatalogBytes(files.path));
  gauge(
    'pds_key_expiry_timestamp_seconds',
    'Unix timestamp of the end of an active key; "replaced_by" is the key that replaces it, empty before a rotation',
    async () =>
      (await expiringKeys())
        .filter(({ expiresAt }) => expiresAt > now())
        .map(({ id, partner, expiresAt, replacedBy }) => ({
          labels: { partner, key_id: id, replaced_by: replacedBy ?? '' },
          value: Date.parse(expiresAt) / 1000,
        })),
  );
  gauge('pds_database_connections', 'Connections to PostgreSQL, by server and state', () =>
    ofServers(({ name: server, connections: { total, idle } }) => [
      { labels: { server, state: 'idle' }, value: idle },
      { labels: { server, state: 'active' }, value: total - idle },
    ]),
  );
  gauge('pds_database_max_connections', 'Maximum number of connections to PostgreSQL', () =>
    ofServers(({ name: server, connections }) => [{ labels: { server }, value: connections.max }]),
  );
  gauge('pds_database_waiting_queries', 'Queries waiting for a connection to PostgreSQL', () =>
    ofServers(({ name: server, connections }) => [{ labels: { server }, value: connections.waiting }]),
  );
  // After the connections above, which these reads use.
  gauge('pds_ready', '1 if the service is ready for requests, as reported by /readyz', async () =>
    Number((await parts.readiness.read()).reasons.length === 0),
  );
  gauge(
    'pds_last_import_timestamp_seconds',
    'Unix timestamp of the last import that succeeded, also if it changed nothing; 0 before the first',
    async () => {
      const checked = await inTime(readStoredSetting(database, CHECKED_AT));
      return checked === undefined ? undefined : Date.parse(latestOf(await lastRelease(), checked ?? EPOCH)) / 1000;
    },
  );
  gauge(
    'pds_last_backup_timestamp_seconds',
    'Unix timestamp of the last recorded backup; before the first, 0 on SQLite, and no value on PostgreSQL',
    async () => {
      const at = await inTime(readStoredSetting(database, LAST_BACKUP));
      if (at === undefined || (at === null && files === undefined)) return undefined;
      return Date.parse(at ?? EPOCH) / 1000;
    },
  );
  gauge('pds_replica_up', '1 if a replica responds', () => ofReplicas(({ lagMs }) => Number(lagMs !== null)));
  gauge(
    'pds_replica_lag_seconds',
    'Age of the oldest change that a replica lacks; 0 if it lacks none, no value if it does not respond',
    () => ofReplicas(({ lagMs }) => lagMs && lagMs / 1000),
  );
  gauge('pds_replica_in_use', '1 if requests are currently read from a replica', () =>
    ofReplicas(({ isInUse }) => Number(isInUse)),
  );

  gauge('pds_limits_shared', '1 if limits are currently counted in Redis, 0 if Redis is configured but down', () =>
    redisRateLimiter === null ? undefined : Number(redisRateLimiter.isShared),
  );
  counter(
    'pds_limits_fallbacks_total',
    'How often a process fell back to counting by itself because Redis failed',
    () => redisRateLimiter?.fallbacks,
  );
  counter(
    'pds_usage_flush_failures_total',
    'How often usage counts could not be written to the database',
    () => usage.state.failedWrites,
  );
}

/** The longest that a scrape or a probe waits for the database. */
const READ_TIMEOUT_MS = 1_000;

/** Undefined if the database does not respond within a second: other metrics show that it is down. */
export function inTime<T>(read: Promise<T>): Promise<T | undefined> {
  return Promise.race([read.catch(() => undefined), delay(READ_TIMEOUT_MS, undefined, { ref: false })]);
}

/**
 * Reads a value again only if the revision, which every change of the value replaces, has changed since the last read.
 * If the database does not respond within a second, returns the last known value.
 */
function rereadOnRevision<T>(directory: ObservedParts['directory'], initial: T, read: () => Promise<T>) {
  let known: { revision: Revision | null; value: T } = { revision: null, value: initial };
  const reread = async (): Promise<void> => {
    // Taken before the read, which therefore returns this revision's value or a later one.
    const { revision } = directory;
    known = { revision, value: await read() };
  };
  return async () => {
    if (known.revision !== directory.revision) await inTime(reread());
    return known.value;
  };
}
