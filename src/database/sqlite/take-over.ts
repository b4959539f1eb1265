import { renameSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { formatTimestamp, type Clock } from '../../timestamp.ts';
import type { OpenDatabase } from '../database.ts';
import { findLastRelease } from '../event-log.ts';
import { migrate, type MigrateOptions } from '../migrations/migrator.ts';
import { sql } from 'kysely';
import { catalogPath, newCatalogName } from './catalog-files.ts';
import { keepAs, makeLike, syncToDisk } from './durable-files.ts';
import { lockReplaced, type ReplacedFile } from './replaced-database.ts';
import { FORMER_TABLE, formerAccessFile, hasTable } from './sqlite-files.ts';
import { openSqlite, openStaged } from './sqlite.ts';

/** Suffixes of SQLite's companion files. SQLite would apply one to any database file with the matching name. */
const COMPANIONS = ['-wal', '-shm', '-journal'];

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
  options: MigrateOptions,
): Promise<string[]> {
  await database.close();
  const staged = `${path}.upgrading`;
  const [catalog, access] = lockBoth(path);
  if (catalog.connection === null || access.connection === null || !hasTable(catalog.connection, FORMER_TABLE)) {
    // Another process has taken it over since it was opened. Locking ended this mode.
    catalog.connection?.exec('pragma journal_mode = wal');
    for (const file of [catalog, access]) file.close();
    openUpgraded(database, path);
    return migrate(database, clock, options);
  }
  const name = newCatalogName(path, 0);
  const catalogFile = catalogPath(path, name);
  let isDone = false;
  try {
    // Left by a killed upgrade.
    for (const companion of ['', ...COMPANIONS]) rmSync(staged + companion, { force: true });
    catalog.connection.prepare('vacuum into ?').run(catalogFile);
    access.connection.prepare('vacuum into ?').run(staged);
    const ran = await upgradeStaged(staged, catalogFile, name, clock, options);
    for (const file of [staged, catalogFile]) {
      makeLike(file, access.path);
      syncToDisk(file);
    }
    const suffix = `before-2.0-${formatTimestamp(clock()).replaceAll(':', '-')}`;
    const kept = [path, access.path].map((file) => `${file}.${suffix}`);
    for (const file of [path, access.path]) keepAs(file, `${file}.${suffix}`);
    syncToDisk(dirname(path));
    for (const companion of COMPANIONS) rmSync(path + companion, { force: true });
    renameSync(staged, path);
    isDone = true;
    syncToDisk(dirname(path));
    for (const companion of ['', ...COMPANIONS]) rmSync(access.path + companion, { force: true });
    options.onKept?.(kept);
    return ran;
  } finally {
    catalog.close();
    access.close();
    if (!isDone) for (const file of [staged, catalogFile]) rmSync(file, { force: true });
    for (const companion of COMPANIONS) rmSync(staged + companion, { force: true });
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

/**
 * Upgrades a log and a catalog that nobody else uses, and names the catalog in the last release, if there is one.
 *
 * @returns the names of the migrations that ran.
 */
export async function upgradeStaged(
  log: string,
  catalog: string,
  name: string,
  clock: Clock,
  options: MigrateOptions,
): Promise<string[]> {
  const staged = openStaged(log, catalog);
  try {
    const ran = await migrate(staged, clock, { ...options, beforeUpgrade: async () => undefined });
    const last = await findLastRelease(staged);
    if (last !== null) await sql`update access.events set file = ${name} where at = ${last.at}`.execute(staged.kysely);
    return ran;
  } finally {
    await staged.close();
  }
}
