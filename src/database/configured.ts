import { existsSync, statSync } from 'node:fs';
import type { DatabaseConfig } from '../config.ts';
import { displayUrlOf } from '../printable.ts';
import { describePostgresError } from './postgres/postgres-errors.ts';
import { describeSqliteError, findFolder, refuseLoneFiles, sizeOf } from './sqlite/sqlite-files.ts';

// A configured database that is not open. Nothing here loads a driver or Kysely, which takes half of a short command's time.

type ConfigOf<Engine> = Extract<DatabaseConfig, { readonly engine: Engine }>;

/** Calls the function of the database's engine. */
export function byEngine<T>(
  config: DatabaseConfig,
  functions: {
    readonly sqlite: (config: ConfigOf<'sqlite'>) => T;
    readonly postgres: (config: ConfigOf<'postgres'>) => T;
  },
): T {
  return config.engine === 'sqlite' ? functions.sqlite(config) : functions.postgres(config);
}

/** The path of SQLite's file; null for a database on a server, which has tools of its own to copy it. */
export function pathOf(config: DatabaseConfig): string | null {
  return byEngine(config, { sqlite: ({ path }) => path, postgres: () => null });
}

/** A database's path, or its host, port and name: for messages, without a password. */
export function databaseName(config: DatabaseConfig): string {
  return byEngine(config, { sqlite: ({ path }) => path, postgres: ({ url }) => displayUrlOf(url) });
}

/**
 * Whether opening a database for commands would create it. One of PostgreSQL always exists, but can be empty.
 *
 * @throws DatabaseUnavailableError if it could not be created, or only its catalogs exist.
 */
export function isMissing(config: DatabaseConfig): boolean {
  const path = pathOf(config);
  if (path === null) return false;
  findFolder(path);
  refuseLoneFiles(path);
  return sizeOf(path) === 0;
}

/** Whether opening a database for commands would change its files, since a killed service left a write-ahead log. */
export function hasLog(config: DatabaseConfig): boolean {
  const path = pathOf(config);
  // If the folder cannot be read, opening the database reports that.
  return path !== null && existsSync(`${path}-wal`) && statSync(`${path}-wal`).size > 0;
}

/** Describes an error of a database for operators, and what to do; null if it is another error. Without secrets. */
export function describeDatabaseError(error: Error, config: DatabaseConfig): string | null {
  return byEngine(config, {
    sqlite: ({ path }) => describeSqliteError(error, path, `${path} or its catalog`),
    postgres: ({ url }) => describePostgresError(error, displayUrlOf(url)),
  });
}
