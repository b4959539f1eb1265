import { existsSync, realpathSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { CopyError } from '../store.ts';
import { APPLICATION_ID, LAYOUT, LAYOUT_VERSION } from './sqlite-layout.ts';

/** How long to wait for other programs that briefly lock the file. */
const BUSY_TIMEOUT_MS = 10_000;

type Open = new (path: string) => DatabaseSync;

/** An open copy, and the function that releases its lock. */
export interface SqliteFile {
  readonly path: string;
  readonly database: DatabaseSync;
  readonly unlock: () => void;
}

/**
 * Opens a copy, or creates an empty one.
 *
 * @throws CopyError if the file cannot be opened, belongs to another program, or is locked by another mirror.
 */
export async function openSqlite(path: string): Promise<SqliteFile> {
  const Sqlite = await loadSqlite();
  let unlock: (() => void) | undefined;
  let database: DatabaseSync | undefined;
  try {
    unlock = lock(Sqlite, path);
    database = new Sqlite(path);
    // Not the constructor's `timeout` option, which early versions of `node:sqlite` lack.
    database.exec(`pragma busy_timeout = ${BUSY_TIMEOUT_MS}`);
    prepare(database, path);
    return { path, database, unlock };
  } catch (error) {
    database?.close();
    unlock?.();
    if (error instanceof CopyError) throw error;
    throw new CopyError(`${path}: cannot open it as a SQLite file: ${(error as Error).message}`, { cause: error });
  }
}

/** @throws CopyError if this version of Node has no SQLite. */
async function loadSqlite(): Promise<Open> {
  try {
    // Newer versions of Node name the class `Database`, and warn about the old name.
    const sqlite = (await import('node:sqlite')) as unknown as { Database?: Open; DatabaseSync: Open };
    return sqlite.Database ?? sqlite.DatabaseSync;
  } catch (cause) {
    throw new CopyError(
      `SQLite requires Node 22.13 or newer; this is ${process.version}. Upgrade Node, or use --ndjson`,
      { cause },
    );
  }
}

/**
 * Locks the copy, so that only one mirror works on it at a time. The lock is an OS lock on a separate file: readers are
 * not blocked, and it is released even if the process is killed.
 *
 * @throws CopyError if another process holds the lock.
 */
function lock(Sqlite: Open, path: string): () => void {
  // Resolve symbolic links, so that every path to the copy uses the same lock.
  const database = new Sqlite(`${existsSync(path) ? realpathSync(path) : path}-lock`);
  try {
    database.exec('begin exclusive');
  } catch (error) {
    database.close();
    if (!isBusy(error)) throw error;
    throw new CopyError(`${path}: another mirror is using it`, { cause: error });
  }
  return () => database.close();
}

/** Whether the error is SQLITE_BUSY: another process held the file for longer than the busy timeout. */
export function isBusy(error: unknown): boolean {
  return (error as { errcode?: number }).errcode === 5;
}

/** Creates the tables of an empty file. */
function prepare(database: DatabaseSync, path: string): void {
  const pragma = (name: string): number => Number(database.prepare(`pragma ${name}`).get()?.[name]);
  const [application, version] = [pragma('application_id'), pragma('user_version')];
  const isEmpty = database.prepare('select 1 from sqlite_schema').get() === undefined;
  if (application !== APPLICATION_ID && !(isEmpty && application === 0))
    throw new CopyError(`${path} is another program's database and was not changed. Choose another file`);
  if (!isEmpty && version !== LAYOUT_VERSION)
    throw new CopyError(
      `${path} has layout ${version}; this version supports ${LAYOUT_VERSION}. Start a new copy in another file`,
    );
  // A power cut can undo the last transactions, each with the state that belongs to it.
  database.exec('pragma journal_mode = wal; pragma synchronous = normal');
  const hasBefore = database
    .prepare(`select 1 from pragma_table_info('unreported_changes') where name = 'before'`)
    .get();
  // Versions before 2.1 did not note how a record was before.
  if (!isEmpty && hasBefore === undefined) database.exec('alter table unreported_changes add column before text');
  if (!isEmpty) return;
  database.exec(`begin immediate; pragma application_id = ${APPLICATION_ID}; pragma user_version = ${LAYOUT_VERSION};
    ${LAYOUT} commit`);
}
