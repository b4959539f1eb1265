import { existsSync, renameSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import {
  SQLITE_BUSY,
  SQLITE_CORRUPT,
  SQLITE_IOERR,
  SQLITE_NOTADB,
  sqliteCode,
  SQLITE_ERROR,
  SqliteConnection,
} from './sqlite-files.ts';
import { OperatorError } from '../../operator-error.ts';
import { EPOCH } from '../../timestamp.ts';
import { keepAs, syncToDisk } from './durable-files.ts';

/** How long to wait for a command that may be about to finish. */
const LOCK_PATIENCE_MS = 2_000;

/**
 * Locks a database's file so that no server or command can have it open, even idle, and checkpoints its WAL: a WAL left
 * beside another file would destroy it. A damaged file cannot be locked.
 *
 * @returns the connection that holds the lock until disposal, null if the file is missing or damaged, and the timestamp of
 *   the last event, the epoch if it cannot be read.
 * @throws OperatorError if the database is in use.
 */
export function lockReplaced(path: string) {
  const connection = lockFile(path);
  const isDamaged = connection === null && existsSync(path);
  const lastEvent = readLastEvent(connection);
  return { connection, isDamaged, lastEvent, [Symbol.dispose]: () => connection?.close() };
}

export type ReplacedFile = ReturnType<typeof lockReplaced>;

/** Suffixes of SQLite's companion files. SQLite would apply one to any database file with the matching name. */
export const COMPANIONS = ['-wal', '-shm', '-journal'];

/** Removes a file, and what SQLite has left beside it. */
export function removeFile(path: string): void {
  for (const companion of ['', ...COMPANIONS]) rmSync(path + companion, { force: true });
}

/** Adds a name to each of these files, which stays when the file is replaced or removed. Returns these names. */
export function keepFiles(paths: readonly string[], suffix: string): string[] {
  for (const path of paths) keepAs(path, `${path}.${suffix}`);
  return paths.map((path) => `${path}.${suffix}`);
}

/**
 * Puts a prepared file, which is on disk, in place of a locked one: if the process is killed, either of them is there.
 * Sync the folder afterwards.
 */
export function replaceFile(prepared: string, path: string): void {
  syncToDisk(dirname(path));
  for (const companion of COMPANIONS) rmSync(path + companion, { force: true });
  renameSync(prepared, path);
}

/** Null if the file is missing or damaged. */
function lockFile(path: string): DatabaseSync | null {
  if (!existsSync(path)) return null;
  const connection = new SqliteConnection(`${pathToFileURL(path).href}?mode=rw`, { timeout: LOCK_PATIENCE_MS });
  try {
    // With the schema's name: otherwise the setting would also apply to databases attached later.
    connection.exec('pragma main.locking_mode = exclusive');
    // Leaving WAL mode requires exclusive access, and ends with an empty WAL.
    connection.prepare('pragma journal_mode = delete').get();
    connection.exec('begin exclusive; rollback');
    return connection;
  } catch (error) {
    connection.close();
    const code = sqliteCode(error);
    if (code === SQLITE_BUSY) {
      throw new OperatorError(
        `${path} is open in another process: stop all servers ("pds serve") and commands that use it, and try again`,
        { cause: error },
      );
    }
    if (code === SQLITE_NOTADB || code === SQLITE_CORRUPT || code === SQLITE_IOERR) return null;
    throw error;
  }
}

function readLastEvent(connection: DatabaseSync | null): string {
  try {
    const timestamp = connection?.prepare('select max(at) as at from events').get()?.['at'];
    return typeof timestamp === 'string' ? timestamp : EPOCH;
  } catch {
    return EPOCH;
  }
}

/** Errors for a missing table, and for damage, which can show anywhere. */
const UNREADABLE = [SQLITE_ERROR, SQLITE_IOERR, SQLITE_CORRUPT, SQLITE_NOTADB];

/** The cursor secret is created once per database and is the same in every copy of it. */
const IS_SAME_DATABASE = `
  select 1 from main.settings as was join restored.settings as kept on was.value = kept.value
  where was.name = 'cursor_secret' and kept.name = 'cursor_secret'`;

// Not by id: the migration of an older backup has added an entry of its own.
const KEEP_AUDIT = `
  insert into restored.audit (at, actor, action, partner, key_id, details)
  select at, actor, action, partner, key_id, details from main.audit as was
  where not exists (select 1 from restored.audit as kept where kept.at = was.at
    and (kept.actor, kept.action, kept.partner, kept.key_id, kept.details)
      is (was.actor, was.action, was.partner, was.key_id, was.details))
  order by id`;

// Counts only grow, so the later database has the complete ones. An id alone may have been assigned again.
const KEEP_USAGE = `
  insert into restored.usage (day, partner_id, key_id, endpoint, requests, records, limited, failed)
  select day, partner_id, key_id, endpoint, requests, records, limited, failed from main.usage
  where partner_id in (select was.id from main.partners as was join restored.partners as kept
    on was.id = kept.id and was.created_at = kept.created_at)
  on conflict (day, partner_id, key_id, endpoint) do update set
    requests = excluded.requests, records = excluded.records, limited = excluded.limited, failed = excluded.failed`;

/**
 * Copies the audit trail and the usage since the backup into a restored database, whose schema is up to date: those
 * actions did happen.
 *
 * @param connection on the replaced database.
 * @returns false if that cannot be read, or is not the one that was backed up.
 */
export function keepHistory(connection: DatabaseSync, restoredPath: string): boolean {
  connection.prepare('attach ? as restored').run(restoredPath);
  try {
    connection.exec('begin');
    if (connection.prepare(IS_SAME_DATABASE).get() === undefined) return false;
    connection.exec(KEEP_AUDIT);
    connection.exec(KEEP_USAGE);
    connection.exec('commit');
    return true;
  } catch (error) {
    if (UNREADABLE.includes(sqliteCode(error) ?? -1)) return false;
    throw error;
  } finally {
    if (connection.isTransaction) connection.exec('rollback');
    connection.exec('detach restored');
  }
}
