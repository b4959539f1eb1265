import type { DatabaseSync } from 'node:sqlite';
import { freeBytes, logBytes, SMALL_BYTES, SQLITE_BUSY, SQLITE_FULL, sqliteCode } from './sqlite-files.ts';

/**
 * Empties the catalog's log if it is large or the disk nearly full. Waits for readers up to the busy timeout. Otherwise
 * the log keeps every page that a transaction wrote, even if it was rolled back, until no process has the database open.
 *
 * @returns false if a reader prevented it.
 */
export function emptyCatalogLog(connection: DatabaseSync, catalog: string): boolean {
  const keptBytes = isNearlyFull(catalog) ? 0 : SMALL_BYTES;
  // A running import empties it at its end; waiting for that would delay a change of a key.
  if (logBytes(catalog) <= keptBytes || isCatalogLocked(connection)) return true;
  return connection.prepare('pragma catalog.wal_checkpoint(truncate)').get()?.['busy'] === 0;
}

/**
 * Makes what room it can on a nearly full disk for a change of partners or keys. An import that was killed has left its
 * log. The log of `access` keeps its size, but the change overwrites it from the beginning, and needs no other space.
 */
export function makeRoom(connection: DatabaseSync, { catalog, access }: { catalog: string; access: string }): void {
  if (!isNearlyFull(catalog)) return;
  unlessFull(() => emptyCatalogLog(connection, catalog));
  if (logBytes(access) > 0) unlessFull(() => connection.exec('pragma access.wal_checkpoint(restart)'));
}

/** A log of committed pages can need more room in its file than there is. */
function unlessFull(checkpoint: () => unknown): void {
  try {
    checkpoint();
  } catch (error) {
    if (sqliteCode(error) !== SQLITE_FULL) throw error;
  }
}

function isNearlyFull(file: string): boolean {
  return freeBytes(file) < SMALL_BYTES;
}

function isCatalogLocked(connection: DatabaseSync): boolean {
  const timeoutMs = Number(connection.prepare('pragma busy_timeout').get()?.['timeout']);
  connection.exec('pragma busy_timeout = 0');
  try {
    connection.exec('delete from catalog.migrations where false');
    return false;
  } catch (error) {
    return sqliteCode(error) === SQLITE_BUSY;
  } finally {
    connection.exec(`pragma busy_timeout = ${timeoutMs}`);
  }
}
