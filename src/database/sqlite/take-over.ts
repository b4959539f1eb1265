import { rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { formatTimestamp, type Clock } from '../../timestamp.ts';
import type { OpenDatabase } from '../database.ts';
import { findLastRelease } from '../event-log.ts';
import { sql } from 'kysely';
import { makeLike, syncToDisk } from './durable-files.ts';
import { keepFiles, lockReplaced, removeFile, replaceFile, type ReplacedFile } from './replaced-database.ts';
import { catalogPath, formerAccessFile, newCatalogName } from './file-names.ts';
import { FORMER_TABLE, hasTable, makePrivateFile } from './sqlite-files.ts';
import { openSqlite, openStaged } from './sqlite.ts';

/** Upgrades a database, and returns the names of the migrations that ran. */
type Migrate = (database: OpenDatabase) => Promise<string[]>;

/**
 * Upgrades a database of version 1.3, whose catalog had the address, and which had partners and keys beside it. Both are
 * copied, upgraded beside the database, and put in place by one rename: whenever the process is killed, either the old
 * database is there or the new one. The old files stay under other names.
 *
 * @param database opened for reading only. It is closed, since nobody can have the files open, and then is the upgraded
 *   one. If this fails, it stays closed.
 * @returns the names of the migrations that ran.
 * @throws OperatorError if another process has the files open.
 */
export async function takeOver(
  database: OpenDatabase,
  path: string,
  clock: Clock,
  { migrate, onKept }: { readonly migrate: Migrate; readonly onKept: (files: readonly string[]) => void },
): Promise<string[]> {
  await database.close();
  const staged = `${path}.upgrading`;
  const [catalog, access] = lockBoth(path);
  if (catalog.connection === null || access.connection === null || !hasTable(catalog.connection, FORMER_TABLE)) {
    // Another process has taken it over since it was opened. Locking ended this mode.
    catalog.connection?.exec('pragma journal_mode = wal');
    for (const file of [catalog, access]) file.close();
    openUpgraded(database, path);
    return migrate(database);
  }
  const name = newCatalogName(path, 0);
  const catalogFile = catalogPath(path, name);
  let isDone = false;
  try {
    // Left by a killed upgrade.
    removeFile(staged);
    for (const file of [staged, catalogFile]) makePrivateFile(file);
    catalog.connection.prepare('vacuum into ?').run(catalogFile);
    access.connection.prepare('vacuum into ?').run(staged);
    const ran = await upgradeFiles(staged, catalogFile, name, migrate);
    for (const file of [staged, catalogFile]) {
      makeLike(file, access.path);
      syncToDisk(file);
    }
    const kept = keepFiles([path, access.path], `before-2.0-${formatTimestamp(clock()).replaceAll(':', '-')}`);
    replaceFile(staged, path);
    isDone = true;
    syncToDisk(dirname(path));
    removeFile(access.path);
    onKept(kept);
    return ran;
  } finally {
    catalog.close();
    access.close();
    removeFile(staged);
    if (!isDone) rmSync(catalogFile, { force: true });
    if (isDone) openUpgraded(database, path);
  }
}

function openUpgraded(database: OpenDatabase, path: string): void {
  Object.assign(database, { formerPath: undefined }, openSqlite(path, 'write'));
}

function lockBoth(path: string): [ReplacedFile, ReplacedFile] {
  const catalog = lockReplaced(path);
  try {
    return [catalog, lockReplaced(formerAccessFile(path))];
  } catch (error) {
    catalog.close();
    throw error;
  }
}

async function upgradeFiles(log: string, catalog: string, name: string, migrate: Migrate): Promise<string[]> {
  await using staged = openStaged(log, catalog);
  return await upgradeStaged(staged, name, migrate);
}

/**
 * Upgrades a database that nobody else uses, and names its catalog in the last release, if there is one.
 *
 * @returns the names of the migrations that ran.
 */
export async function upgradeStaged(staged: OpenDatabase, name: string, migrate: Migrate): Promise<string[]> {
  const ran = await migrate(staged);
  const last = await findLastRelease(staged);
  if (last !== null) await sql`update access.events set file = ${name} where at = ${last.at}`.execute(staged.kysely);
  return ran;
}
