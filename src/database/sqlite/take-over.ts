import { rmSync } from 'node:fs';
import { dirname } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { formatTimestamp, type Clock } from '../../timestamp.ts';
import type { FormerFiles, OpenDatabase } from '../database.ts';
import { findLastRelease } from '../event-log.ts';
import { migrate, type MigrateOptions } from '../migrations/migrator.ts';
import { sql } from 'kysely';
import { catalogPath, newCatalogName } from './catalog-files.ts';
import { makeLike, syncToDisk } from './durable-files.ts';
import { keepFiles, lockReplaced, removeFile, replaceFile, type ReplacedFile } from './replaced-database.ts';
import { formerAccessFile } from './sqlite-files.ts';
import { openStaged } from './sqlite.ts';

/**
 * Upgrades a database of version 1.3, whose catalog had the address, and which had partners and keys beside it. Both are
 * copied, upgraded beside the database, and put in place by one rename: whenever the process is killed, either the old
 * database is there or the new one. The old files stay under other names.
 *
 * @param database opened for reading only; it closes the files meanwhile, since nobody can have them open.
 * @returns the names of the migrations that ran.
 * @throws OperatorError if another process has the files open.
 */
export async function takeOver(
  database: OpenDatabase,
  former: FormerFiles,
  clock: Clock,
  options: MigrateOptions,
): Promise<string[]> {
  const { path } = former;
  former.detach();
  const staged = `${path}.upgrading`;
  const [catalog, access] = lockBoth(former);
  if (catalog.connection === null || access.connection === null || !hasPublications(catalog.connection)) {
    // Another process has taken it over since it was opened. Locking ended this mode.
    catalog.connection?.exec('pragma journal_mode = wal');
    for (const file of [catalog, access]) file.close();
    Object.assign(database, { catalogFiles: former.attachUpgraded(), formerFiles: undefined });
    return migrate(database, clock, options);
  }
  const name = newCatalogName(path, 0);
  const catalogFile = catalogPath(path, name);
  let isDone = false;
  try {
    // Left by a killed upgrade.
    removeFile(staged);
    catalog.connection.prepare('vacuum into ?').run(catalogFile);
    access.connection.prepare('vacuum into ?').run(staged);
    const ran = await upgradeFiles(staged, catalogFile, name, clock, options);
    for (const file of [staged, catalogFile]) {
      makeLike(file, access.path);
      syncToDisk(file);
    }
    const kept = keepFiles([path, access.path], `before-2.0-${formatTimestamp(clock()).replaceAll(':', '-')}`);
    replaceFile(staged, path);
    isDone = true;
    syncToDisk(dirname(path));
    removeFile(access.path);
    options.onKept?.(kept);
    return ran;
  } finally {
    catalog.close();
    access.close();
    removeFile(staged);
    if (!isDone) rmSync(catalogFile, { force: true });
    if (isDone) Object.assign(database, { catalogFiles: former.attachUpgraded(), formerFiles: undefined });
    else former.attach();
  }
}

function hasPublications(connection: DatabaseSync): boolean {
  return connection.prepare("select 1 from sqlite_schema where name = 'publications'").get() !== undefined;
}

function lockBoth(former: FormerFiles): [ReplacedFile, ReplacedFile] {
  let catalog: ReplacedFile | null = null;
  try {
    catalog = lockReplaced(former.path);
    return [catalog, lockReplaced(formerAccessFile(former.path))];
  } catch (error) {
    catalog?.close();
    former.attach();
    throw error;
  }
}

async function upgradeFiles(
  log: string,
  catalog: string,
  name: string,
  clock: Clock,
  options: MigrateOptions,
): Promise<string[]> {
  await using staged = openStaged(log, catalog);
  return await upgradeStaged(staged, name, clock, options);
}

/**
 * Upgrades a database that nobody else uses, and names its catalog in the last release, if there is one.
 *
 * @returns the names of the migrations that ran.
 */
export async function upgradeStaged(
  staged: OpenDatabase,
  name: string,
  clock: Clock,
  options: MigrateOptions,
): Promise<string[]> {
  const ran = await migrate(staged, clock, { ...options, beforeUpgrade: async () => undefined });
  const last = await findLastRelease(staged);
  if (last !== null) await sql`update access.events set file = ${name} where at = ${last.at}`.execute(staged.kysely);
  return ran;
}
