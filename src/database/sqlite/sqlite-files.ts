import { accessSync, closeSync, constants, existsSync, openSync, statfsSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { listCatalogFiles } from './file-names.ts';
import * as sqlite from 'node:sqlite';
import { DatabaseUnavailableError } from '../database.ts';

// https://www.sqlite.org/rescode.html: primary codes, the low byte of Node's `errcode`.
export const SQLITE_ERROR = 1;
export const SQLITE_BUSY = 5;
const SQLITE_LOCKED = 6;
export const SQLITE_READONLY = 8;
export const SQLITE_IOERR = 10;
export const SQLITE_CORRUPT = 11;
export const SQLITE_FULL = 13;
const SQLITE_CANTOPEN = 14;
export const SQLITE_NOTADB = 26;

/** The SQLite primary result code of an error; null for any other error. */
export function sqliteCode(error: unknown): number | null {
  const { code, errcode } = (error ?? {}) as { code?: unknown; errcode?: unknown };
  return code === 'ERR_SQLITE_ERROR' && typeof errcode === 'number' ? errcode & 0xff : null;
}

/** Node 26.11 renames DatabaseSync to Database and warns at the old name; older versions know only the old one. */
export const SqliteConnection = ((sqlite as Record<string, unknown>)['Database'] ??
  sqlite.DatabaseSync) as typeof sqlite.DatabaseSync;

/** The folder of the file, which can be missing. @throws DatabaseUnavailableError if its parent is missing, too. */
export function findFolder(path: string): string {
  const folder = dirname(resolve(path));
  if (existsSync(folder) || existsSync(dirname(folder))) return folder;
  throw new DatabaseUnavailableError(noFolderMessage(path));
}

/** In bytes; 0 if the file is missing, `Infinity` if it cannot be read. */
export function sizeOf(file: string): number {
  try {
    return statSync(file, { throwIfNoEntry: false })?.size ?? 0;
  } catch {
    return Infinity;
  }
}

/** @throws DatabaseUnavailableError if a catalog exists, but not the file with the partners and keys. */
export function refuseLoneFiles(path: string): void {
  // Before there is a catalog, the file has tables: an empty one was truncated.
  const [catalog] = sizeOf(path) > 0 ? [] : listCatalogFiles(path);
  if (catalog === undefined) return;
  throw new DatabaseUnavailableError(
    `${path} is ${existsSync(path) ? 'empty' : 'missing'}, but ${catalog}, which belongs to it, exists: put it back, or restore a backup; ` +
      'to start over, move the other one away too. Nothing was created',
  );
}

/** The database is of a version before 2.0, which had the catalog in this file, and partners and keys in another one. */
export class FormerDatabaseError extends DatabaseUnavailableError {
  constructor(path: string) {
    super(
      `the schema of ${path} is older than version 2.0: run "pds migrate" with version 2.0 first. Nothing was changed`,
    );
  }
}

/** Whether `access` has this table. */
export function hasTable(connection: sqlite.DatabaseSync, table: string): boolean {
  return connection.prepare('select 1 from access.sqlite_schema where name = ?').get(table) !== undefined;
}

/** Creates an empty file that only its owner can read, unless it exists. SQLite gives the WAL the same permissions. */
export function makePrivateFile(file: string): void {
  try {
    closeSync(openSync(file, 'wx', 0o600));
  } catch {
    // It exists, or cannot be created: then opening it reports why.
  }
}

/** A change of partners or keys takes less space than this. */
export const SMALL_BYTES = 1024 * 1024;

/** The space that this user can fill on the disk of a file. */
export function freeBytes(file: string): number {
  const { bavail, bsize } = statfsSync(dirname(file));
  return bavail * bsize;
}

/** Below this the disk counts as full: SQLite's WAL indexes alone need about as much. */
const MIN_FREE_BYTES = 64 * 1024;

/** The first three problems that SQLite finds in the structure of a file; null if there are none. */
export function findDamage(file: string, pragma: 'quick_check' | 'integrity_check'): string | null {
  try {
    using connection = new SqliteConnection(file, { readOnly: true });
    const found = connection.prepare(`pragma ${pragma}(3)`).all();
    const problems = found.map((row) => String(row[pragma])).join('; ');
    return problems === 'ok' ? null : problems.replaceAll(/\*{3} .*? \*{3}\s*|\n/g, '');
  } catch (error) {
    return (error as Error).message;
  }
}

/**
 * Describes a SQLite error for operators, and what to do; null for any other error.
 *
 * @param damaged names the files that can be damaged, if it is not only this one.
 */
export function describeSqliteError(error: unknown, file: string, damaged = file): string | null {
  const code = sqliteCode(error);
  if (code === null) return null;
  // For a failed `attach`, Node's message repeats the path instead of the reason.
  const { message, errstr: reason = message } = error as Error & { errstr?: string };
  switch (code) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return `another process is writing to the database ${file}: try again`;
    case SQLITE_NOTADB:
      return `${file} is not a SQLite database: check PDS_DATABASE_URL. Nothing was changed`;
    case SQLITE_CORRUPT:
      return `${damaged} is damaged (${reason}): stop the service, and restore a backup`;
    case SQLITE_FULL:
    case SQLITE_IOERR:
      return code === SQLITE_FULL || isFull(file)
        ? `no space is left on the disk for ${file}: free at least 1 MB, and run the command again. It did everything or nothing`
        : `${file} cannot be read or written (${reason}): check the system log for disk errors`;
    case SQLITE_READONLY:
    case SQLITE_CANTOPEN:
      return reasonNotUsable(file) ?? `${file} cannot be opened: ${reason}`;
    default:
      return `the database ${file}: ${message}`;
  }
}

function isFull(file: string): boolean {
  try {
    return freeBytes(file) < MIN_FREE_BYTES;
  } catch {
    return false;
  }
}

/** Why this user cannot use a file, and what to do; null if nothing prevents it. */
export function reasonNotUsable(file: string): string | null {
  const folder = dirname(resolve(file));
  if (!existsSync(folder)) return noFolderMessage(file);
  const { R_OK, W_OK, X_OK } = constants;
  const problem = missingRight(folder, X_OK) ?? (existsSync(file) ? missingRight(file, R_OK | W_OK) : null);
  if (problem !== null) return `${file} cannot be used: ${problem}`;
  if (existsSync(file) && statSync(file).isDirectory()) return `${file} is a folder: check PDS_DATABASE_URL`;
  const inFolder = missingRight(folder, W_OK);
  if (inFolder === null) return null;
  return `${file} cannot be used: ${inFolder}. SQLite creates its WAL beside the file, even to read`;
}

function missingRight(path: string, rights: number): string | null {
  try {
    accessSync(path, rights);
    return null;
  } catch (error) {
    const user = process.geteuid === undefined ? 'the current user' : `user ${process.geteuid()}`;
    return (error as NodeJS.ErrnoException).code === 'EROFS'
      ? `the disk of ${path} is mounted read-only`
      : `${user} cannot read and write ${path}. Make the service's user its owner, and run commands as that user`;
  }
}

function noFolderMessage(file: string): string {
  return `the folder of the database ${file} does not exist: check PDS_DATABASE_URL and that the disk is mounted, or create the folder`;
}
