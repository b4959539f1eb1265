import { closeSync, existsSync, openSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { backup as copyDatabase, type DatabaseSync, type SQLOutputValue } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import {
  freeBytes,
  SQLITE_BUSY,
  sqliteCode,
  SqliteConnection,
  sqliteFiles,
  type SqliteFiles,
} from '../database/sqlite/sqlite-files.ts';
import { OperatorError } from '../operator-error.ts';
import { EPOCH, formatTimestamp, latestOf, type Clock } from '../timestamp.ts';
import { BACKUP_FILES, BACKUP_FORMAT, MANIFEST_FILE, type BackupManifest } from './backup-manifest.ts';
import { createFolder, digestFile, syncToDisk } from './durable-files.ts';

const GROUPS = ['access', 'catalog'] as const;

/** For the lock under which commit timestamps are drawn. A release holds it only during its last step. */
const LOCK_PATIENCE_MS = 60_000;

/** Pages per progress report, of 8 KiB each. */
const PAGES_AT_ONCE = 2_000;

/** An upgrade can write all records again, first to the write-ahead log, so that both files grow by the catalog's size. */
const UPGRADE_SHARE = 2;

export interface BackupOptions {
  readonly clock: Clock;
  /** The service's version. */
  readonly version: string;
  /** Free space that must be left on the target's disk. */
  readonly reservedBytes?: number;
  /** Called during the backup: with bytes copied, then with bytes read again to compute digests. */
  readonly onProgress?: (step: 'copying' | 'checking', doneBytes: number, totalBytes: number) => void;
}

/**
 * Copies both files of a SQLite database into a new folder while servers and imports run.
 *
 * Both copies are of the same moment: the backup takes the lock under which releases and grant changes draw their
 * timestamps, so none of them is between its two commits. It releases the lock once a read transaction has seen both
 * files. That transaction stays open until everything is copied, so later writes are not included.
 *
 * @param target a folder that does not exist yet, or is empty.
 * @throws OperatorError if there is nothing to back up, no room for it, the lock is held for over a minute, or the copy
 *   is damaged.
 */
export async function backup(path: string, target: string, options: BackupOptions): Promise<BackupManifest> {
  for (const group of GROUPS) {
    const file = sqliteFiles(path)[group];
    if (!existsSync(file)) throw new OperatorError(`there is no ${file}: nothing to back up (PDS_DATABASE_URL)`);
  }
  return createFolder(target, async (folder) => {
    refuseFullDisk(dirname(folder), path, options);
    return fill(folder, path, options);
  });
}

/**
 * Backs up a database beside itself before an upgrade, which cannot be undone.
 *
 * @returns the backup's folder.
 * @throws OperatorError as `backup`, also if the disk has no room for the backup and the upgrade.
 */
export async function backUpBeside(path: string, options: BackupOptions): Promise<string> {
  const folder = `${path}.before-upgrade-${formatTimestamp(options.clock()).replaceAll(':', '-')}`;
  await backup(path, folder, { ...options, reservedBytes: UPGRADE_SHARE * statSync(path).size });
  return folder;
}

function refuseFullDisk(folder: string, path: string, { reservedBytes = 0 }: BackupOptions): void {
  const needed = GROUPS.map((group) => sqliteFiles(path)[group]).reduce((sum, file) => sum + statSync(file).size, 0);
  const free = freeBytes(join(folder, 'backup'));
  if (free >= needed + reservedBytes) return;
  const reserved = reservedBytes > 0 ? `, and the upgrade ${Math.ceil(reservedBytes / 1e6)} MB` : '';
  throw new OperatorError(
    `${folder} has room for ${Math.floor(free / 1e6)} MB, and the backup takes ${Math.ceil(needed / 1e6)} MB${reserved}`,
  );
}

async function fill(folder: string, path: string, options: BackupOptions): Promise<BackupManifest> {
  const files = { catalog: join(folder, BACKUP_FILES.catalog), access: join(folder, BACKUP_FILES.access) };
  const snapshot = openSnapshot(path);
  const madeAt = formatTimestamp(options.clock());
  let about: ReturnType<typeof describeSnapshot>;
  try {
    about = describeSnapshot(snapshot);
    await copyBoth(snapshot, files, options);
  } finally {
    snapshot.close();
  }
  const manifest: BackupManifest = {
    format: BACKUP_FORMAT,
    version: options.version,
    made_at: madeAt,
    ...about,
    files: await checkBoth(files, options),
  };
  writeFileSync(join(folder, MANIFEST_FILE), `${JSON.stringify(manifest, null, 2)}\n`, { mode: 0o600 });
  for (const file of [files.catalog, files.access, join(folder, MANIFEST_FILE)]) syncToDisk(file);
  return manifest;
}

/** A connection with both files attached, in a read transaction that has seen both at the same moment. */
function openSnapshot(path: string): DatabaseSync {
  const live = sqliteFiles(path);
  using lock = new SqliteConnection(`${pathToFileURL(live.access).href}?mode=rw`, { timeout: LOCK_PATIENCE_MS });
  const reader = new SqliteConnection(':memory:');
  try {
    for (const group of GROUPS) {
      reader.prepare(`attach ? as ${group}`).run(`${pathToFileURL(live[group]).href}?mode=rw`);
    }
    lock.exec('begin immediate');
    reader.exec('begin');
    for (const group of GROUPS) reader.prepare(`select count(*) from ${group}.sqlite_schema`).get();
    return reader;
  } catch (error) {
    reader.close();
    if (sqliteCode(error) !== SQLITE_BUSY) throw error;
    throw new OperatorError('a release has been committing for over a minute: try again later', {
      cause: error,
    });
  }
}

function describeSnapshot(snapshot: DatabaseSync): Pick<BackupManifest, 'schema' | 'last_event'> {
  const one = (text: string): SQLOutputValue => Object.values(snapshot.prepare(text).get() ?? {})[0] ?? null;
  const isEmpty = GROUPS.some(
    (group) => one(`select count(*) from ${group}.sqlite_schema where name = 'migrations'`) === 0,
  );
  if (isEmpty) throw new OperatorError('the database is empty: nothing to back up (PDS_DATABASE_URL)');
  const schema = {
    catalog: Number(one('select max(number) from catalog.migrations')),
    access: Number(one('select max(number) from access.migrations')),
  };
  const timestamps = [
    // A backup is also made before an upgrade, of the tables of version 1.3.
    schema.catalog < 9 ? 'select max(instant) from catalog.publications' : 'select max(at) from catalog.releases',
    schema.access < 9 ? 'select last_instant from access.clock' : 'select max(at) from access.events',
  ];
  return {
    schema,
    last_event: latestOf(EPOCH, ...timestamps.map(one).filter((timestamp) => typeof timestamp === 'string')),
  };
}

async function copyBoth(snapshot: DatabaseSync, files: SqliteFiles, { onProgress }: BackupOptions): Promise<void> {
  const pragma = (group: string, name: string): number =>
    Number(snapshot.prepare(`pragma ${group}.${name}`).get()?.[name]);
  const parts = GROUPS.map((group) => {
    const pageBytes = pragma(group, 'page_size');
    return { group, pageBytes, bytes: pageBytes * pragma(group, 'page_count') };
  });
  const totalBytes = parts.reduce((sum, { bytes }) => sum + bytes, 0);
  let copiedBefore = 0;
  for (const { group, pageBytes, bytes } of parts) {
    closeSync(openSync(files[group], 'wx', 0o600));
    await copyDatabase(snapshot, files[group], {
      source: group,
      rate: PAGES_AT_ONCE,
      progress: ({ totalPages, remainingPages }) =>
        onProgress?.('copying', copiedBefore + pageBytes * (totalPages - remainingPages), totalBytes),
    });
    copiedBefore += bytes;
  }
}

async function checkBoth(files: SqliteFiles, { onProgress }: BackupOptions): Promise<BackupManifest['files']> {
  const bytes = { catalog: statSync(files.catalog).size, access: statSync(files.access).size };
  const totalBytes = bytes.catalog + bytes.access;
  let doneBytes = 0;
  const check = async (group: keyof SqliteFiles) => {
    onProgress?.('checking', doneBytes, totalBytes);
    refuseDamaged(files[group]);
    const sha256 = await digestFile(files[group], (more) => {
      doneBytes += more;
      onProgress?.('checking', doneBytes, totalBytes);
    });
    return { name: BACKUP_FILES[group], bytes: bytes[group], sha256 };
  };
  return { catalog: await check('catalog'), access: await check('access') };
}

/** Opened as immutable, so that SQLite creates no WAL beside it. */
function refuseDamaged(file: string): void {
  using copy = new SqliteConnection(`${pathToFileURL(file).href}?immutable=1`, { readOnly: true });
  const problems = copy
    .prepare('pragma integrity_check(3)')
    .all()
    .map((row) => String(row['integrity_check']));
  if (problems.join() !== 'ok') {
    throw new OperatorError(`the copy is damaged, and the database may be too: ${problems.join('; ')}`);
  }
}
