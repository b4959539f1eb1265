import { existsSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import {
  SQLITE_BUSY,
  SQLITE_CORRUPT,
  SQLITE_IOERR,
  SQLITE_NOTADB,
  sqliteCode,
} from '../database/sqlite/sqlite-errors.ts';
import { SqliteConnection, sqliteFiles } from '../database/sqlite/sqlite-files.ts';
import { OperatorError } from '../operator-error.ts';
import { EPOCH, latestOf } from '../timestamp.ts';

/** How long to wait for a command that may be about to finish. */
const LOCK_PATIENCE_MS = 2_000;

/** A file of the database being replaced. No other process can use it while this is open. */
export interface ReplacedFile {
  readonly path: string;
  /** Holds the exclusive lock; null if the file is missing or damaged. */
  readonly connection: DatabaseSync | null;
  readonly state: 'absent' | 'locked' | 'damaged';
}

export interface ReplacedDatabase {
  readonly catalog: ReplacedFile;
  readonly access: ReplacedFile;
  /** Its last commit timestamp, as far as it can be read. */
  readonly lastEvent: string;
  close(): void;
}

/**
 * Locks a database's files so that no server or command can have it open, and checkpoints their WALs: a WAL left beside
 * another file would destroy it.
 *
 * Every open connection in WAL mode holds a lock, even when idle, which makes this one fail. A damaged file cannot be
 * locked, so whether it is in use is unknown.
 *
 * @throws OperatorError if the database is in use.
 */
export function lockReplaced(path: string): ReplacedDatabase {
  const catalog = lockFile(path);
  let access: ReplacedFile;
  try {
    access = lockFile(sqliteFiles(path).access);
  } catch (error) {
    catalog.connection?.close();
    throw error;
  }
  const lastEvent = latestOf(
    EPOCH,
    readTimestamp(catalog, 'select max(instant) as instant from publications'),
    readTimestamp(access, 'select last_instant as instant from clock'),
  );
  return {
    catalog,
    access,
    lastEvent,
    close() {
      catalog.connection?.close();
      access.connection?.close();
    },
  };
}

function lockFile(path: string): ReplacedFile {
  if (!existsSync(path)) return { path, connection: null, state: 'absent' };
  const connection = new SqliteConnection(`${pathToFileURL(path).href}?mode=rw`, { timeout: LOCK_PATIENCE_MS });
  try {
    // With the schema's name: otherwise the setting would also apply to databases attached later.
    connection.exec('pragma main.locking_mode = exclusive');
    // Leaving WAL mode requires exclusive access, and ends with an empty WAL.
    connection.prepare('pragma journal_mode = delete').get();
    connection.exec('begin exclusive; rollback');
    return { path, connection, state: 'locked' };
  } catch (error) {
    connection.close();
    const code = sqliteCode(error);
    if (code === SQLITE_BUSY) {
      throw new OperatorError(
        `${path} is open in another process: stop all servers ("pds serve") and commands that use it, and try again`,
        { cause: error },
      );
    }
    if (code === SQLITE_NOTADB || code === SQLITE_CORRUPT || code === SQLITE_IOERR) {
      return { path, connection: null, state: 'damaged' };
    }
    throw error;
  }
}

/** `EPOCH` if it cannot be read. */
function readTimestamp({ connection }: ReplacedFile, statement: string): string {
  try {
    const timestamp = connection?.prepare(statement).get()?.['instant'];
    return typeof timestamp === 'string' ? timestamp : EPOCH;
  } catch {
    return EPOCH;
  }
}
