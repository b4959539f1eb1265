import { existsSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import { SQLITE_BUSY, SQLITE_CORRUPT, SQLITE_IOERR, SQLITE_NOTADB, sqliteCode } from '../database/sqlite-errors.ts';
import { SqliteConnection, sqliteFiles } from '../database/sqlite-files.ts';
import { EPOCH, latestOf } from '../instant.ts';
import { RecoveryError } from './recovery-error.ts';

/** How long to wait for a command that may be about to end. */
const LOCK_PATIENCE_MS = 2_000;

/** A file of the database that is to be replaced, and that nobody else can use as long as this is open. */
export interface ReplacedFile {
  readonly path: string;
  /** With the exclusive lock; null where there is no such file, or it is damaged. */
  readonly connection: DatabaseSync | null;
  readonly state: 'absent' | 'locked' | 'damaged';
}

export interface ReplacedDatabase {
  readonly catalog: ReplacedFile;
  readonly access: ReplacedFile;
  /** The latest instant that was drawn in it, as far as it can be read. */
  readonly lastEvent: string;
  close(): void;
}

/**
 * Locks the files of a database so that no server and no command can have it open, and takes
 * what is in their write-ahead logs into them: a log that was left beside another file would
 * destroy it.
 *
 * Every connection in WAL mode holds a lock that this one is refused over, also where it is idle.
 * A damaged file cannot be locked in this way, and whether it is in use cannot be told.
 *
 * @throws RecoveryError where the database is in use.
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
    readInstant(catalog, 'select max(instant) as instant from publications'),
    readInstant(access, 'select last_instant as instant from clock'),
  );
  return {
    ...{ catalog, access, lastEvent },
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
    // With the name of the schema: without it, the setting is also that of what is attached later.
    connection.exec('pragma main.locking_mode = exclusive');
    // Leaving WAL mode needs the file for itself, and ends with an empty log.
    connection.prepare('pragma journal_mode = delete').get();
    connection.exec('begin exclusive; rollback');
    return { path, connection, state: 'locked' };
  } catch (error) {
    connection.close();
    const code = sqliteCode(error);
    if (code === SQLITE_BUSY) {
      throw new RecoveryError(
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

/** The beginning of 1970 where it cannot be read: an empty or damaged database knows of nothing. */
function readInstant({ connection }: ReplacedFile, statement: string): string {
  try {
    const instant = connection?.prepare(statement).get()?.['instant'];
    return typeof instant === 'string' ? instant : EPOCH;
  } catch {
    return EPOCH;
  }
}
