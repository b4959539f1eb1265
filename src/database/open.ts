import type { DatabaseConfig } from '../config.ts';
import { byEngine } from './configured.ts';
import type { OpenDatabase, Operator } from './database.ts';
import { openPostgresForCommands, openPostgresForServing } from './postgres/postgres.ts';
import { openSqlite } from './sqlite/sqlite.ts';

/**
 * Opens a database for reading.
 *
 * @param replicaUrl of PostgreSQL's replica; null for none, undefined if the database itself can be a standby.
 * @param mayLackCatalog whether SQLite's catalog looks empty if it is missing or damaged, so that it can be replaced.
 * @throws DatabaseUnavailableError if SQLite's files, or a file that a PostgreSQL URL names, cannot be opened.
 */
export function openForServing(config: DatabaseConfig, replicaUrl?: string | null, mayLackCatalog = false) {
  return byEngine<OpenDatabase>(config, {
    sqlite: ({ path }) => openSqlite(path, 'read', mayLackCatalog),
    postgres: ({ url }) => openPostgresForServing(url, replicaUrl),
  });
}

/** Opens a database for a command that can write. Creates SQLite's file if it is missing. Otherwise as `openForServing`. */
export function openForCommands(config: DatabaseConfig, operator?: Operator, mayLackCatalog = false): OpenDatabase {
  const opened = byEngine(config, {
    sqlite: ({ path }) => openSqlite(path, 'write', mayLackCatalog),
    postgres: ({ url }) => openPostgresForCommands(url),
  });
  return Object.assign(opened, operator && { operator });
}

/** Opens a database for reads that take longer than a request can. */
export function openForLongReads(config: DatabaseConfig): OpenDatabase {
  return byEngine(config, {
    sqlite: ({ path }) => openSqlite(path, 'read'),
    // Serving connections have a statement timeout.
    postgres: ({ url }) => openPostgresForCommands(url),
  });
}
