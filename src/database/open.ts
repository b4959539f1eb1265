import type { DatabaseConfig } from '../config.ts';
import type { ConfiguredDatabase, OpenDatabase, Operator } from './database.ts';
import { postgresDatabase } from './postgres/postgres.ts';
import { sqliteDatabase } from './sqlite/sqlite.ts';

/** The database of a configuration, without opening it. */
export function configuredDatabase(config: DatabaseConfig): ConfiguredDatabase {
  return config.engine === 'sqlite' ? sqliteDatabase(config.path) : postgresDatabase(config.url);
}

/**
 * Opens a database for reading. For `replicaUrl`, see `ConfiguredDatabase.openForServing`.
 *
 * @throws DatabaseUnavailableError if SQLite's files, or a file that a PostgreSQL URL names, cannot be opened.
 */
export function openForServing(config: DatabaseConfig, replicaUrl?: string | null): OpenDatabase {
  return configuredDatabase(config).openForServing(replicaUrl);
}

/**
 * Opens a database for a command that can write. Creates SQLite's files if they are missing.
 *
 * @param operator the author recorded with each change; without one the author is `unknown`.
 * @throws DatabaseUnavailableError if SQLite's files, or a file that a PostgreSQL URL names, cannot be opened.
 */
export function openForCommands(config: DatabaseConfig, operator?: Operator): OpenDatabase {
  const opened = configuredDatabase(config).openForCommands();
  return operator === undefined ? opened : { ...opened, operator };
}
