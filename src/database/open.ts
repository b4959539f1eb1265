import type { DatabaseConfig } from '../config.ts';
import type { OpenDatabase, Operator } from './database.ts';
import { openPostgresForCommands, openPostgresForServing } from './postgres/postgres.ts';
import { openSqlite } from './sqlite/sqlite.ts';

/**
 * Opens a database for reading: SQLite's files read-only, PostgreSQL through pools.
 *
 * @param replicaUrls of PostgreSQL's replicas.
 * @throws DatabaseUnavailableError if SQLite's files cannot be opened.
 */
export function openForServing(config: DatabaseConfig, replicaUrls: readonly string[] = []): OpenDatabase {
  return config.engine === 'sqlite' ? openSqlite(config.path, 'read') : openPostgresForServing(config.url, replicaUrls);
}

/**
 * Opens a database for a command that can write. Creates SQLite's files if they are missing.
 *
 * @param operator the author recorded with each change; without one the author is `unknown`.
 */
export function openForCommands(config: DatabaseConfig, operator?: Operator): OpenDatabase {
  const opened = config.engine === 'sqlite' ? openSqlite(config.path, 'write') : openPostgresForCommands(config.url);
  return operator === undefined ? opened : { ...opened, operator };
}
