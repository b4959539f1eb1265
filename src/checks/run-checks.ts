import type { Config, DatabaseConfig } from '../config.ts';
import { shownPostgresUrl } from '../database/postgres/postgres-url.ts';
import type { Clock } from '../timestamp.ts';
import { within, type Finding } from './finding.ts';
import { checkPrimary, type PrimaryState } from './primary.ts';
import { checkRedis } from './redis.ts';
import { checkReplica } from './replicas.ts';
import { checkSettings } from './settings.ts';
import { checkSqlite } from './sqlite.ts';

/**
 * Checks everything that the service needs. Changes nothing, and always ends, however much of it hangs. Replicas come
 * after the primary, with which they are compared.
 *
 * @param describe formats an error of a database, without secrets.
 * @param verifyIndex called if the database can be read.
 */
export async function runChecks(
  config: Config,
  clock: Clock,
  describe: (error: unknown, database: DatabaseConfig) => string,
  verifyIndex: (database: DatabaseConfig) => Promise<Finding[]>,
): Promise<Finding[]> {
  const { database, environment, replicaUrls, redisUrl } = config;
  const describeFound = (error: unknown): string => describe(error, database);
  const redis = redisUrl === null ? [] : within('redis', describeFound, () => checkRedis(redisUrl));
  let primary: PrimaryState | null = null;
  let isReadable = false as boolean;
  const found = await within('database', describeFound, async () => {
    if (database.engine === 'sqlite') {
      const checked = await checkSqlite(database.path, environment, clock);
      isReadable = checked.isReadable;
      return checked.findings;
    }
    const checked = await checkPrimary(database.url, environment, clock);
    primary = checked.state;
    isReadable = checked.state !== null;
    return checked.findings;
  });
  const index = isReadable ? await verifyIndex(database) : [];
  const replicas = await Promise.all(
    replicaUrls.map((url) => {
      const describeReplica = (error: unknown): string => describe(error, { engine: 'postgres', url });
      return within(`replica ${shownPostgresUrl(url)}`, describeReplica, () => checkReplica(url, primary));
    }),
  );
  return [...checkSettings(config), ...found, ...index, ...replicas.flat(), ...(await redis)];
}
