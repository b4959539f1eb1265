import { randomBytes } from 'node:crypto';
import { constants, copyFileSync, existsSync, readdirSync, rmSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { OperatorError } from '../../operator-error.ts';
import { makeLike } from './durable-files.ts';
import { freeBytes, makePrivateFile, SMALL_BYTES, SQLITE_BUSY, sqliteCode, SqliteConnection } from './sqlite-files.ts';

/*
 * The catalogs of a database are files beside it: `pds.catalog-7-0f3a….sqlite` is one of `pds.sqlite`, first named by
 * release 7. A file that an event of the log names never changes again, and no name is used twice.
 */

/** The name of a database's file without its extension, and the extension. */
function partsOf(path: string): { stem: string; extension: string } {
  const name = basename(path);
  const extension = /\.\w+$/.exec(name)?.[0] ?? '';
  return { stem: name.slice(0, name.length - extension.length), extension };
}

/** A name for the catalog of a release, without the folder. */
export function newCatalogName(path: string, release: number): string {
  const { stem, extension } = partsOf(path);
  return `${stem}.catalog-${release}-${randomBytes(8).toString('hex')}${extension}`;
}

/** The path of a catalog that the log of a database names. */
export function catalogPath(path: string, name: string): string {
  // A name from a log that was tampered with must not lead elsewhere.
  return join(dirname(path), basename(name));
}

const CATALOG_NAME = /^(.+)\.catalog-\d+-[0-9a-f]{16}(\.\w+)?(-journal)?$/s;

/** The paths of all catalogs of a database, named by its log or not. */
export function listCatalogFiles(path: string, withJournals = false): string[] {
  const folder = dirname(path);
  if (!existsSync(folder)) return [];
  const { stem, extension } = partsOf(path);
  const isOwn = (name: string): boolean => {
    const [, ownStem, ownExtension = '', journal] = CATALOG_NAME.exec(name) ?? [];
    return ownStem === stem && ownExtension === extension && (withJournals || journal === undefined);
  };
  return readdirSync(folder)
    .filter(isOwn)
    .map((name) => join(folder, name));
}

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

/** A file that only its lock matters of: an import holds it, and loses it when its process ends. */
function lockFileOf(path: string): string {
  const { stem, extension } = partsOf(path);
  return join(dirname(path), `${stem}.import-lock${extension}`);
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

/** Removes the lock's file, of a database that goes. */
export function removeImportLock(path: string): void {
  rmSync(lockFileOf(path), { force: true });
}

/** Of these pages a copy without free ones is made by SQLite. */
const FREE_SHARE = 0.25;

/**
 * Copies a catalog to a new file, which gets the owner and permissions of the database.
 *
 * @throws OperatorError if the disk has no room for it.
 */
export function copyCatalog(from: string, to: string, database: string): void {
  // It does not change. Otherwise SQLite could create files beside it.
  using source = new SqliteConnection(`${pathToFileURL(from).href}?mode=ro&immutable=1`, { readOnly: true });
  const pragma = (name: string): number => Number(source.prepare(`pragma ${name}`).get()?.[name]);
  const isSparse = pragma('freelist_count') > FREE_SHARE * pragma('page_count');
  if (isSparse) {
    refuseFullDisk(from, to);
    makePrivateFile(to);
    source.prepare('vacuum into ?').run(to);
  } else if (!cloneFile(from, to)) {
    refuseFullDisk(from, to);
    try {
      copyFileSync(from, to, constants.COPYFILE_EXCL);
    } catch (error) {
      // Something else has filled the disk meanwhile.
      throw (error as NodeJS.ErrnoException).code === 'ENOSPC' ? fullDisk(from, to) : error;
    }
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

function refuseFullDisk(from: string, to: string): void {
  if (freeBytes(to) < statSync(from).size + SMALL_BYTES) throw fullDisk(from, to);
}

function fullDisk(from: string, to: string): OperatorError {
  const missingBytes = Math.max(0, statSync(from).size + SMALL_BYTES - freeBytes(to));
  return new OperatorError(
    `no space is left on the disk for ${to}, a copy of the catalog: free at least ${1 + Math.ceil(missingBytes / 1e6)} MB, ` +
      'and run the command again. It did everything or nothing',
  );
}
