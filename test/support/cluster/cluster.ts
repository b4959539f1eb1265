import type { DatabaseConfig } from '../../../src/config.ts';
import type { OpenDatabase } from '../../../src/database/database.ts';
import { openForCommands } from '../../../src/database/open.ts';
import { migrate } from '../../../src/database/migrations/migrator.ts';
import { createClient, type Client } from '../client.ts';
import { startNginx, type NginxPart } from './nginx.ts';
import { startPgBouncer, type PgBouncerPart } from './pgbouncer.ts';
import { startPrimary, startReplica, type PostgresPart, type ReplicaPart } from './postgres.ts';
import { startRedis, type RedisPart } from './redis.ts';
import { startServicePart, type ServicePart } from './service.ts';
import { Workspace } from './workspace.ts';

/**
 * Everything that an operator runs, on the loopback:
 *
 * ```
 * client ──TLS──▶ nginx ─┬─▶ service ─┬─▶ PgBouncer ─┬─▶ primary
 *                        │            │              └─▶ replica 1, of the first service
 *                        └─▶ service ─┼─▶ Redis
 *                                     └─▶ replica 2, of the second
 * ```
 */
export interface Cluster {
  readonly primary: PostgresPart;
  readonly replicas: readonly ReplicaPart[];
  readonly pgbouncer: PgBouncerPart;
  readonly redis: RedisPart;
  readonly services: readonly ServicePart[];
  readonly nginx: NginxPart;
  /** The primary, reached directly, for writes. */
  readonly databaseConfig: DatabaseConfig;
  readonly database: OpenDatabase;
  /** A partner's client, through nginx. */
  readonly client: Client;
  /** A client of a service that reads from the primary only: the reference for the others' responses. */
  readonly reference: Client;
  /** Waits until every replica has replayed what the primary has committed so far. */
  catchUp(): Promise<void>;
  /** Starts every stopped part and resumes replay on the replicas, after a test that failed midway. */
  heal(): Promise<void>;
  /** The logs of all parts, to diagnose a failure. */
  logs(): string;
  close(): Promise<void>;
}

/** Starts the cluster with an empty, migrated database. The caller must close it. */
export async function startCluster(): Promise<Cluster> {
  await using opened = new AsyncDisposableStack();
  const workspace = new Workspace();
  opened.defer(() => workspace.close());
  const primary = await startPrimary(workspace);
  const databaseConfig: DatabaseConfig = { engine: 'postgres', url: primary.url };
  const database = openForCommands(databaseConfig);
  opened.defer(() => database.close());
  await migrate(database, Date.now);
  const [firstReplica, secondReplica] = await Promise.all([
    startReplica(workspace, 'replica-1', primary),
    startReplica(workspace, 'replica-2', primary),
  ]);
  const replicas = [firstReplica, secondReplica];
  const [pgbouncer, redis] = await Promise.all([
    startPgBouncer(workspace, primary, firstReplica),
    startRedis(workspace),
  ]);
  const environment = {
    PDS_REDIS_URL: redis.url,
    PDS_TRUSTED_PROXIES: '127.0.0.1',
  };
  const start = (replicaUrl: string): Promise<ServicePart> =>
    startServicePart(workspace, pgbouncer.url(), { ...environment, PDS_REPLICA_URL: replicaUrl });
  const [first, second, reference] = await Promise.all([
    start(pgbouncer.url({ ofReplica: true })),
    start(secondReplica.url),
    startServicePart(workspace, primary.url),
  ]);
  const services = [first, second];
  const nginx = await startNginx(
    workspace,
    services.map(({ port }) => port),
  );
  const client = createClient(nginx.url, nginx.tls);
  opened.defer(() => client.close());
  const referenceClient = createClient(reference.url);
  opened.defer(() => referenceClient.close());
  const parts = [primary, ...replicas, pgbouncer, redis, nginx];
  const all = opened.move();
  return {
    primary,
    replicas,
    pgbouncer,
    redis,
    services,
    nginx,
    databaseConfig,
    database,
    client,
    reference: referenceClient,
    catchUp: async () => {
      await Promise.all(replicas.map((replica) => replica.catchUp()));
    },
    async heal() {
      for (const part of parts) await part.start();
      for (const service of services) if (!service.isRunning()) await service.start();
      for (const replica of replicas) await replica.resumeReplay();
    },
    logs() {
      const failures = services.map((service) => `${service.name}:\n${linesOfTrouble(service.output())}`);
      return [...parts.map((part) => `${part.name}:\n${part.log()}`), ...failures].join('\n');
    },
    close: () => all.disposeAsync(),
  };
}

/** The output without the access log lines. */
function linesOfTrouble(output: string): string {
  return output
    .split('\n')
    .filter((line) => !line.includes('"request answered"'))
    .join('\n');
}
