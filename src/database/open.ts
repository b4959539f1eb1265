import type { DatabaseConfig } from '../config.ts';
import { byEngine } from './configured.ts';
import type { OpenDatabase, Operator } from './database.ts';
import { openPostgresForCommands, openPostgresForServing } from './postgres/postgres.ts';
import { openSqlite } from './sqlite/sqlite.ts';

/**
 * Opens a database for reading.
 *
 * @param replicaUrl of PostgreSQL's replica; null for none, undefined if the database itself can be a standby.
 * @throws DatabaseUnavailableError if SQLite's files, or a file that a PostgreSQL URL names, cannot be opened.
 */
export function openForServing(config: DatabaseConfig, replicaUrl?: string | null): OpenDatabase {
  return byEngine(config, {
    sqlite: ({ path }) => openSqlite(path, 'read'),
    postgres: ({ url }) => openPostgresForServing(url, replicaUrl),
  });
}

/**
 * Opens a database for a command that can write. Creates SQLite's file if it is missing.
 *
 * @throws DatabaseUnavailableError as `openForServing`.
 */
export function openForCommands(config: DatabaseConfig, operator?: Operator): OpenDatabase {
  const opened = byEngine(config, {
    sqlite: ({ path }) => openSqlite(path, 'write'),
    postgres: ({ url }) => openPostgresForCommands(url),
  });
  return Object.assign(opened, operator && { operator });
}

/** Opens a database to publish another catalog: that of SQLite looks empty if it is missing or damaged. */
export function openForRecovery(config: DatabaseConfig, mode: 'read' | 'write', operator?: Operator): OpenDatabase {
  return byEngine(config, {
    sqlite: ({ path }) => Object.assign(openSqlite(path, mode, true), operator && { operator }),
    postgres: (same) => (mode === 'read' ? openForServing(same) : openForCommands(same, operator)),
  });
}

/** Opens a database for reads that take longer than a request can. */
export function openForLongReads(config: DatabaseConfig): OpenDatabase {
  return byEngine(config, {
    sqlite: ({ path }) => openSqlite(path, 'read'),
    // Serving connections have a statement timeout.
    postgres: ({ url }) => openPostgresForCommands(url),
  });
}
