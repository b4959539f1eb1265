import { constants, copyFileSync, existsSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { sql } from 'kysely';
import project from '../../package.json' with { type: 'json' };
import { lockFiles, type WorkHooks } from '../database/catalog-lock.ts';
import { readLastEvent } from '../database/event-log.ts';
import { readSchemaState } from '../database/migrations/migrator.ts';
import { LAST_BACKUP, storeSetting } from '../database/rows.ts';
import { createFolder, digestFile, syncToDisk } from '../database/sqlite/durable-files.ts';
import { catalogPath } from '../database/sqlite/file-names.ts';
import { findDamage, freeBytes, makePrivateFile, SqliteConnection } from '../database/sqlite/sqlite-files.ts';
import { openForCommands } from '../database/open.ts';
import { openSqlite, openStaged } from '../database/sqlite/sqlite.ts';
import { firstRow } from '../database/statement.ts';
import { OperatorError } from '../operator-error.ts';
import { DAY_MS, formatTimestamp, type Clock } from '../timestamp.ts';
import { BACKUP_FILES, BACKUP_FORMAT, MANIFEST_FILE, type BackupManifest } from './backup-manifest.ts';

export interface BackupOptions extends Pick<WorkHooks, 'onWaiting'> {
  readonly clock: Clock;
  /** Whether there must also be room for an upgrade, which copies the catalog and can write all partners again. */
  readonly isBeforeUpgrade?: boolean;
  /** Called during the backup: with bytes copied, then with bytes read again to compute digests. */
  readonly onProgress?: (step: 'copying' | 'checking', doneBytes: number, totalBytes: number) => void;
}

/**
 * Copies a SQLite database into a new folder while servers run: the log's file, and then the catalog that it names,
 * under the lock of imports, so that the catalog is not deleted meanwhile. Keys and grants do not wait.
 *
 * @param target a folder that does not exist yet, or is empty.
 * @throws OperatorError if there is nothing to back up, no room for it, an import ran for over a minute, or the copy is
 *   damaged.
 */
export async function backup(path: string, target: string, options: BackupOptions): Promise<BackupManifest> {
  if (!existsSync(path)) throw new OperatorError(`there is no ${path}: nothing to back up (PDS_DATABASE_URL)`);
  const manifest = await createFolder(target, (folder) => fill(folder, path, options));
  // The backup is complete. If this fails, the alert about an old one shows it.
  await noteBackupIn(path, manifest.made_at).catch(() => undefined);
  return manifest;
}

async function noteBackupIn(path: string, at: string): Promise<void> {
  await using database = openForCommands({ engine: 'sqlite', path }, undefined, true);
  await storeSetting(database, LAST_BACKUP, at);
}

/** The name of a dated backup, and of the folder in which it is made. */
const DATED = /^\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d\.\d{3}Z(\.partial-\w+)?$/;

const nameOf = (timeMs: number): string => formatTimestamp(timeMs).replaceAll(':', '-');

/**
 * Makes a backup in a folder of dated ones, of which the last `keep` stay. Also removes what killed backups left more than
 * a day ago.
 *
 * @returns the backup's folder, its manifest, and the folders that were removed.
 * @throws OperatorError as `backup`; nothing is removed then.
 */
export async function backUpDated(
  path: string,
  folder: string,
  keep: number,
  options: BackupOptions,
): Promise<{ directory: string; manifest: BackupManifest; removed: string[] }> {
  const directory = join(folder, nameOf(options.clock()));
  const manifest = await backup(path, directory, options);
  const dated = readdirSync(folder)
    .filter((name) => DATED.test(name))
    .toSorted();
  const complete = dated.filter((name) => name.endsWith('Z') && existsSync(join(folder, name, MANIFEST_FILE)));
  const left = dated.filter((name) => name.includes('.partial-') && name < nameOf(options.clock() - DAY_MS));
  const removed = [...complete.slice(0, -keep), ...left];
  for (const name of removed) rmSync(join(folder, name), { recursive: true });
  return { directory, manifest, removed: removed.map((name) => join(folder, name)) };
}

/** Backs up a database beside itself before an upgrade, which cannot be undone. Returns the folder. Throws as `backup`. */
export async function backUpBeside(path: string, options: BackupOptions): Promise<string> {
  const folder = `${path}.before-upgrade-${nameOf(options.clock())}`;
  await createFolder(folder, (partial) => fill(partial, path, { ...options, isBeforeUpgrade: true }));
  return folder;
}

async function fill(folder: string, path: string, options: BackupOptions): Promise<BackupManifest> {
  const files = { catalog: join(folder, BACKUP_FILES.catalog), access: join(folder, BACKUP_FILES.access) };
  const madeAt = formatTimestamp(options.clock());
  {
    await using database = openSqlite(path, 'read');
    if ((await readSchemaState(database, 'serve')).isEmpty) {
      throw new OperatorError('the database is empty: nothing to back up (PDS_DATABASE_URL)');
    }
    using _lock = await lockFiles(database.catalogFiles, options);
    await copyBoth(path, database, files, options);
  }
  const manifest: BackupManifest = {
    format: BACKUP_FORMAT,
    version: project.version,
    made_at: madeAt,
    ...(await describeCopy(files)),
    files: await checkBoth(files, options),
  };
  writeFileSync(join(folder, MANIFEST_FILE), `${JSON.stringify(manifest, null, 2)}\n`, { mode: 0o600 });
  for (const file of [files.catalog, files.access, join(folder, MANIFEST_FILE)]) syncToDisk(file);
  return manifest;
}

/** The log first: the catalog that a later one names could be newer than the log that was copied. */
async function copyBoth(
  path: string,
  { kysely, catalogFiles }: ReturnType<typeof openSqlite>,
  files: BackupManifestFiles,
  { onProgress, isBeforeUpgrade = false }: BackupOptions,
): Promise<void> {
  const name = catalogFiles.attachCurrent();
  const catalog = name === null ? null : catalogPath(path, name);
  const bytes = { access: statSync(path).size, catalog: catalog === null ? 0 : statSync(catalog).size };
  const total = bytes.access + bytes.catalog;
  refuseFullDisk(files.access, total, isBeforeUpgrade ? total : 0);
  onProgress?.('copying', 0, total);
  await setImmediate();
  makePrivateFile(files.access);
  {
    using log = new SqliteConnection(`${pathToFileURL(path).href}?mode=ro`);
    log.prepare('vacuum into ?').run(files.access);
  }
  onProgress?.('copying', bytes.access, total);
  await setImmediate();
  makePrivateFile(files.catalog);
  if (catalog !== null) copyFileSync(catalog, files.catalog, constants.COPYFILE_FICLONE);
  else await sql`vacuum catalog into ${files.catalog}`.execute(kysely);
  onProgress?.('copying', total, total);
}

function refuseFullDisk(file: string, bytes: number, reservedBytes: number): void {
  const free = freeBytes(file);
  if (free >= bytes + reservedBytes) return;
  const reserved = reservedBytes > 0 ? `, and the upgrade ${Math.ceil(reservedBytes / 1e6)} MB` : '';
  throw new OperatorError(
    `${dirname(dirname(file))} has room for ${Math.floor(free / 1e6)} MB, and the backup takes ${Math.ceil(bytes / 1e6)} MB${reserved}`,
  );
}

type BackupManifestFiles = Readonly<Record<keyof typeof BACKUP_FILES, string>>;

async function describeCopy(files: BackupManifestFiles): Promise<Pick<BackupManifest, 'schema' | 'last_event'>> {
  await using copy = openStaged(files.access, files.catalog);
  const { rows } = await sql<BackupManifest['schema']>`select
    (select max(number) from catalog.migrations) as catalog,
    (select max(number) from access.migrations) as access`.execute(copy.kysely);
  return { schema: firstRow(rows), last_event: await readLastEvent(copy) };
}

async function checkBoth(files: BackupManifestFiles, { onProgress }: BackupOptions): Promise<BackupManifest['files']> {
  const bytes = { catalog: statSync(files.catalog).size, access: statSync(files.access).size };
  const totalBytes = bytes.catalog + bytes.access;
  let doneBytes = 0;
  const check = async (group: keyof BackupManifestFiles) => {
    onProgress?.('checking', doneBytes, totalBytes);
    const damage = findDamage(files[group], 'integrity_check');
    if (damage !== null) throw new OperatorError(`the copy is damaged, and the database may be too: ${damage}`);
    const sha256 = await digestFile(files[group], (more) => {
      doneBytes += more;
      onProgress?.('checking', doneBytes, totalBytes);
    });
    return { name: BACKUP_FILES[group], bytes: bytes[group], sha256 };
  };
  return { catalog: await check('catalog'), access: await check('access') };
}
