import type { Registry } from 'prom-client';
import type { ServerState } from '../database/database.ts';
import type { ObservedParts } from './observed-parts.ts';
import { registerReadMetric, type ReadMetric } from './read-metric.ts';

type Labels = Readonly<Record<string, string>>;

/** A metric of one part. */
interface PartMetric extends Omit<ReadMetric, 'read'> {
  /** One number, or several with labels; undefined if the process does not have the part. */
  readonly read: (parts: ObservedParts) => Found | undefined | Promise<Found>;
}

type Found = number | readonly (readonly [Labels, number])[];

const PART_METRICS: readonly PartMetric[] = [
  {
    name: 'pds_limited_requests_total',
    help: 'Requests over the number a minute of their partner.',
    type: 'counter',
    read: ({ rateLimiter }) => [...rateLimiter.limitedRequests].map(([partner, count]) => [{ partner }, count]),
  },
  {
    name: 'pds_failed_authentications_total',
    help: 'Requests without a good key; "limited" are those after too many from one address.',
    type: 'counter',
    read: ({ rateLimiter: { failures } }) => [
      [{ outcome: 'refused' }, failures.refused],
      [{ outcome: 'limited' }, failures.limited],
    ],
  },
  {
    name: 'pds_answer_cache_hits_total',
    help: 'Answers that were kept, and given again.',
    type: 'counter',
    read: ({ responseCache }) => responseCache.state.hits,
  },
  {
    name: 'pds_answer_cache_misses_total',
    help: 'Answers that had to be made.',
    type: 'counter',
    read: ({ responseCache }) => responseCache.state.misses,
  },
  {
    name: 'pds_answer_cache_evictions_total',
    help: 'Kept answers that made room for others.',
    type: 'counter',
    read: ({ responseCache }) => responseCache.state.evictions,
  },
  {
    name: 'pds_answer_cache_entries',
    help: 'Answers that are kept.',
    type: 'gauge',
    read: ({ responseCache }) => responseCache.state.entries,
  },
  {
    name: 'pds_answer_cache_bytes',
    help: 'Memory that kept answers take.',
    type: 'gauge',
    read: ({ responseCache }) => responseCache.state.bytes,
  },
  {
    name: 'pds_answer_cache_max_bytes',
    help: 'Memory that kept answers may take.',
    type: 'gauge',
    read: ({ responseCache }) => responseCache.state.maxBytes,
  },
  {
    name: 'pds_database_up',
    help: 'Whether the database could be read the last time, which is twice a second.',
    type: 'gauge',
    ofWorkers: 'min',
    read: ({ directory }) => Number(directory.state.isReachable),
  },
  {
    name: 'pds_database_version_age_seconds',
    help: 'Time since the version of partners, keys and publications was read; what is known stays good for 30 s.',
    type: 'gauge',
    ofWorkers: 'max',
    read: ({ directory }) => directory.state.versionAgeMs / 1000,
  },
  {
    name: 'pds_access_version',
    help: 'The version that rises with every publication and every change of partners, keys and grants.',
    type: 'gauge',
    ofWorkers: 'min',
    read: ({ directory }) => directory.state.version,
  },
  {
    name: 'pds_last_publication_timestamp_seconds',
    help: 'The instant of the last publication, as a Unix time; 0 before the first.',
    type: 'gauge',
    ofWorkers: 'min',
    read: async ({ lastPublication }) => Date.parse(await lastPublication.read()) / 1000,
  },
  {
    name: 'pds_database_connections',
    help: 'Connections to PostgreSQL, by server and state.',
    type: 'gauge',
    read: ({ servers }) =>
      servers?.().flatMap(({ name: server, connections: { total, idle } }) => [
        [{ server, state: 'idle' }, idle] as const,
        [{ server, state: 'active' }, total - idle] as const,
      ]),
  },
  {
    name: 'pds_database_max_connections',
    help: 'Connections to PostgreSQL that may be opened.',
    type: 'gauge',
    read: ({ servers }) => servers?.().map(({ name: server, connections }) => [{ server }, connections.most]),
  },
  {
    name: 'pds_database_waiting_queries',
    help: 'Queries that wait for a connection to PostgreSQL.',
    type: 'gauge',
    read: ({ servers }) => servers?.().map(({ name: server, connections }) => [{ server }, connections.waiting]),
  },
  {
    name: 'pds_replica_up',
    help: 'Whether a replica answers.',
    type: 'gauge',
    ofWorkers: 'min',
    read: ({ servers }) =>
      replicasOf(servers)?.map(({ name: replica, lagMs }) => [{ replica }, Number(lagMs !== null)]),
  },
  {
    name: 'pds_replica_lag_seconds',
    help: 'Time since a replica was seen at the newest version; 0 where it is, without a value where it does not answer.',
    type: 'gauge',
    ofWorkers: 'max',
    read: ({ servers }) =>
      replicasOf(servers)?.flatMap(({ name: replica, lagMs }) =>
        lagMs === null ? [] : [[{ replica }, lagMs / 1000] as const],
      ),
  },
  {
    name: 'pds_replica_in_use',
    help: 'Whether requests are read from a replica now.',
    type: 'gauge',
    ofWorkers: 'min',
    read: ({ servers }) => replicasOf(servers)?.map(({ name: replica, isInUse }) => [{ replica }, Number(isInUse)]),
  },
  {
    name: 'pds_limits_shared',
    help: 'Where limits are to be counted in Redis: whether they are now.',
    type: 'gauge',
    ofWorkers: 'min',
    read: ({ redisRateLimiter }) => redisRateLimiter && Number(redisRateLimiter.isShared),
  },
  {
    name: 'pds_limits_fallbacks_total',
    help: 'How often a process began to count by itself, as Redis did not.',
    type: 'counter',
    read: ({ redisRateLimiter }) => redisRateLimiter?.fallbacks,
  },
  {
    name: 'pds_limits_processes',
    help: 'How many processes count in Redis together, as far as is known.',
    type: 'gauge',
    ofWorkers: 'max',
    read: ({ redisRateLimiter }) => redisRateLimiter?.processes,
  },
  {
    name: 'pds_usage_flush_failures_total',
    help: 'How often the counts of usage could not be written to the database.',
    type: 'counter',
    read: ({ usageFlushFailures }) => usageFlushFailures?.(),
  },
  {
    name: 'pds_shed_requests_total',
    help: 'Requests that were refused because there was too much to do.',
    type: 'counter',
    read: ({ shedRequests }) => shedRequests?.(),
  },
];

/** Registers the metrics of all parts. Metrics of a missing part are listed without a value. */
export function registerPartMetrics(registry: Registry, parts: ObservedParts): void {
  for (const { read, ...metric } of PART_METRICS) {
    registerReadMetric(registry, {
      ...metric,
      read: async () => {
        const found = (await read(parts)) ?? [];
        const samples = typeof found === 'number' ? [[{}, found] as const] : found;
        return samples.map(([labels, value]) => ({ labels, value }));
      },
    });
  }
}

function replicasOf(servers: ObservedParts['servers']): ServerState[] | undefined {
  return servers?.().filter(({ isReplica }) => isReplica);
}
