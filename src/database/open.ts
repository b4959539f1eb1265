import type { DatabaseConfig } from '../config.ts';
import { byEngine } from './configured.ts';
import type { OpenDatabase, Operator } from './database.ts';
import { openPostgresForCommands, openPostgresForServing } from './postgres/postgres.ts';
import { openSqlite } from './sqlite/sqlite.ts';

/**
 * Opens a database for reading: SQLite's files read-only, PostgreSQL through pools.
 *
 * @param replicaUrl of PostgreSQL's replica; null for none. Without it, PostgreSQL can be a standby, which is otherwise
 *   refused.
 * @throws DatabaseUnavailableError if SQLite's files, or a file that a PostgreSQL URL names, cannot be opened.
 */
export function openForServing(config: DatabaseConfig, replicaUrl?: string | null): OpenDatabase {
  return byEngine(config, {
    sqlite: ({ path }) => openSqlite(path, 'read'),
    postgres: ({ url }) => openPostgresForServing(url, replicaUrl),
  });
}

/**
 * Opens a database for a command that can write. Creates SQLite's files if they are missing.
 *
 * @param operator the author recorded with each change; without one the author is `unknown`.
 * @throws DatabaseUnavailableError if SQLite's files, or a file that a PostgreSQL URL names, cannot be opened.
 */
export function openForCommands(config: DatabaseConfig, operator?: Operator): OpenDatabase {
  const opened = byEngine(config, {
    sqlite: ({ path }) => openSqlite(path, 'write'),
    postgres: ({ url }) => openPostgresForCommands(url),
  });
  return operator === undefined ? opened : Object.assign(opened, { operator });
}

/**
 * Opens a database to publish another catalog: that of SQLite looks empty if it is missing or damaged.
 *
 * @throws DatabaseUnavailableError as `openForCommands`.
 */
export function openForRecovery(config: DatabaseConfig, mode: 'read' | 'write', operator?: Operator): OpenDatabase {
  const open = mode === 'read' ? openForServing : (same: DatabaseConfig) => openForCommands(same, operator);
  return byEngine(config, {
    sqlite: ({ path }) => Object.assign(openSqlite(path, mode, true), operator === undefined ? {} : { operator }),
    postgres: open,
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
