import { constants, copyFileSync, existsSync, rmSync, statSync } from 'node:fs';
import { basename } from 'node:path';
import { pathToFileURL } from 'node:url';
import { OperatorError } from '../../operator-error.ts';
import { makeLike } from './durable-files.ts';
import { listCatalogFiles, lockFileOf } from './file-names.ts';
import { freeBytes, makePrivateFile, SMALL_BYTES, SQLITE_BUSY, sqliteCode, SqliteConnection } from './sqlite-files.ts';

/** Deletes the catalogs that are not among these names. Call it under the lock of imports. Does not throw. */
export function deleteOtherCatalogs(path: string, used: ReadonlySet<string>): void {
  try {
    for (const file of listCatalogFiles(path, true)) {
      if (!used.has(basename(file).replace(/-journal$/, ''))) rmSync(file, { force: true });
    }
  } catch {
    // The next holder of the lock tries again.
  }
}

/** Takes the lock of imports; null if another process has it. */
export function tryImportLock(path: string): Disposable | null {
  const file = lockFileOf(path);
  const isNew = !existsSync(file);
  const connection = new SqliteConnection(file, { timeout: 0 });
  try {
    connection.exec('begin immediate');
    // The creator can have been killed before.
    if (isNew || process.getuid?.() === 0) makeLike(file, path);
    return { [Symbol.dispose]: () => connection.close() };
  } catch (error) {
    connection.close();
    if (sqliteCode(error) === SQLITE_BUSY) return null;
    throw error;
  }
}

/** The free space that an import needs, as a multiple of the catalog's size: its copy can grow. */
export const ROOM_SHARE = 1.25;

/** Above this share of free pages, SQLite makes the copy, without them. */
const FREE_SHARE = 0.25;

/**
 * Copies a catalog to a new file, with the owner and permissions of the database.
 *
 * @param roomShare the free space that must be there, as a multiple of the catalog's size.
 * @throws OperatorError without room.
 */
export function copyCatalog(from: string, to: string, database: string, roomShare = 1): void {
  // Immutable: otherwise SQLite could create files beside it.
  using source = new SqliteConnection(`${pathToFileURL(from).href}?mode=ro&immutable=1`, { readOnly: true });
  const pragma = (name: string): number => Number(source.prepare(`pragma ${name}`).get()?.[name]);
  const isSparse = pragma('freelist_count') > FREE_SHARE * pragma('page_count');
  if (isSparse || !cloneFile(from, to)) {
    refuseFullDisk(roomShare * statSync(from).size, to);
    if (isSparse) {
      makePrivateFile(to);
      source.prepare('vacuum into ?').run(to);
    } else copyFileSync(from, to, constants.COPYFILE_EXCL);
  }
  makeLike(to, database);
}

/** On file systems that can, a copy shares the blocks of the original until one of them is written. */
function cloneFile(from: string, to: string): boolean {
  try {
    copyFileSync(from, to, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE_FORCE);
    return true;
  } catch {
    rmSync(to, { force: true });
    return false;
  }
}

function refuseFullDisk(bytes: number, to: string): void {
  const missingBytes = bytes + SMALL_BYTES - freeBytes(to);
  if (missingBytes <= 0) return;
  throw new OperatorError(
    `no space is left on the disk for ${to}, a copy of the catalog: free at least ${1 + Math.ceil(missingBytes / 1e6)} MB, ` +
      'and run the command again. It did everything or nothing',
  );
}
