import { constants, copyFileSync, existsSync, linkSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import type { OpenDatabase, Operator } from '../database/database.ts';
import { openForCommands } from '../database/open.ts';
import { SqliteConnection, sqliteFiles } from '../database/sqlite/sqlite-files.ts';
import { migrate } from '../database/migrations/migrator.ts';
import { OperatorError } from '../operator-error.ts';
import { printable } from '../printable.ts';
import { EPOCH, formatTimestamp, latestOf, type Clock } from '../timestamp.ts';
import { BACKUP_FILES, readManifest, verifyFiles, type BackupManifest } from './backup-manifest.ts';
import { keepAs, makeLastFolder, makeLike, syncToDisk } from './durable-files.ts';
import { keepHistory, lockReplaced, type ReplacedDatabase, type ReplacedFile } from './replaced-database.ts';
import { recover, type Recovery } from './recover.ts';

interface RestoreOptions {
  readonly clock: Clock;
  readonly operator?: Operator;
  /** Also restores partners, keys and grants, and suspends every partner. */
  readonly withAccess?: boolean;
  /** A timestamp that partners may have seen, if the replaced database does not contain it. */
  readonly after?: string;
  /**
   * Called during the restore, with the bytes of the backup read so far in steps that read it. If it throws before the
   * step `replacing` has begun, the database stays unchanged.
   */
  readonly onProgress?: (
    step: 'checking' | 'copying' | 'recovering' | 'replacing',
    doneBytes: number,
    totalBytes: number,
  ) => void;
}

export interface RestoreReport {
  readonly manifest: BackupManifest;
  /** Triggers and views that were dropped from the backup. */
  readonly dropped: readonly string[];
  readonly migrations: readonly string[];
  readonly recovery: Recovery;
  /** Only with the backup's partners, keys and grants. */
  readonly access: {
    /** Names of the partners that this restore suspended. */
    readonly suspended: readonly string[];
    /** Names of the partners that the backup already had as suspended. */
    readonly suspendedBefore: readonly string[];
    /** False if the replaced database was missing, unreadable or another one. */
    readonly hasKeptHistory: boolean;
  } | null;
  /** The current paths of the replaced files. */
  readonly replaced: readonly string[];
  /** True if a replaced file was too damaged to tell whether a process had it open. */
  readonly isLockUncertain: boolean;
}

/**
 * Replaces the catalog of a SQLite database with that of a backup. Partners, keys and grants stay: a mistake or damage
 * rarely affects those, and an older state of them would undo revocations made since the backup. `withAccess` replaces
 * them too, suspends every partner, and keeps the audit trail and usage since the backup.
 *
 * The files are verified, copied beside the database, cleaned of triggers and views, migrated and recovered there:
 * their timestamps continue after all those in the replaced database. Then a rename puts each file in place, the log of
 * events first. Between the two renames the replaced catalog has a log that makes every client read everything again. So
 * the database is consistent at every moment, and a killed restore can simply be run again. The replaced files stay beside it.
 *
 * @param path of the catalog's file.
 * @param folder made by `backup`.
 * @throws OperatorError if the folder holds no complete backup or a newer schema, if the database is in use, or if it
 *   has no readable partners to keep.
 */
export async function restore(path: string, folder: string, options: RestoreOptions): Promise<RestoreReport> {
  const { clock, onProgress, withAccess = false } = options;
  const manifest = readManifest(folder);
  const totalBytes = manifest.files.catalog.bytes + manifest.files.access.bytes;
  let doneBytes = 0;
  await verifyFiles(folder, manifest, (bytes) => onProgress?.('checking', (doneBytes += bytes), totalBytes));

  // Lets signals be handled: SQLite statements and file operations here are synchronous.
  const begin = async (step: 'copying' | 'recovering' | 'replacing'): Promise<void> => {
    await setImmediate();
    onProgress?.(step, 0, totalBytes);
  };
  const removeFolder = makeLastFolder(dirname(resolve(path)));
  const replaced = lockReplaced(path);
  const staging = `${path}.restoring`;
  try {
    if (!withAccess) refuseToKeepNothing(replaced.access);
    await begin('copying');
    const staged = stage(folder, staging, replaced, withAccess);
    await begin('recovering');
    const restored = withAccess ? (['catalog', 'access'] as const) : (['catalog'] as const);
    const fromBackup = restored.map((group) => [sqliteFiles(staged)[group], group] as const);
    const dropped = fromBackup.flatMap(([file, group]) => dropPrograms(file, group));
    const migrations = await onStaged(staged, options, (database) => migrate(database, clock));
    const access = withAccess ? restrictAccess(replaced.access, sqliteFiles(staged).access, clock) : null;
    await begin('recovering');
    const recovery = await onStaged(staged, options, (database) =>
      recover(database, {
        clock,
        after: latestOf(options.after ?? EPOCH, replaced.lastEvent),
        change: { action: 'restore', details: { made_at: manifest.made_at, ...(dropped.length > 0 && { dropped }) } },
      }),
    );
    await begin('replacing');
    const aside = formatTimestamp(clock()).replaceAll(':', '-');
    return {
      manifest,
      dropped,
      migrations,
      recovery,
      access,
      replaced: putInPlace(staged, replaced, aside),
      isLockUncertain: [replaced.catalog, replaced.access].some(({ state }) => state === 'damaged'),
    };
  } finally {
    rmSync(staging, { recursive: true, force: true });
    replaced.close();
    // Keeps the folder if the database is in it.
    removeFolder();
  }
}

/**
 * Reports what `restore` would replace, and changes nothing.
 *
 * @returns `replaced` is null if there is no database to replace. Its last event is null if it cannot be read.
 * @throws OperatorError if the folder holds no complete backup, or the database is in use.
 */
export function previewRestore(
  path: string,
  folder: string,
): { manifest: BackupManifest; replaced: { lastEvent: string | null } | null } {
  const manifest = readManifest(folder);
  const replaced = lockReplaced(path);
  try {
    // Locking ended this mode.
    for (const { connection } of [replaced.catalog, replaced.access]) connection?.exec('pragma journal_mode = wal');
    const isThere = [replaced.catalog, replaced.access].some(({ state }) => state !== 'absent');
    const lastEvent = replaced.lastEvent === EPOCH ? null : replaced.lastEvent;
    return { manifest, replaced: isThere ? { lastEvent } : null };
  } finally {
    replaced.close();
  }
}

/** A service that was started on a lost database has created an empty one. */
function refuseToKeepNothing({ path, connection, state }: ReplacedFile): void {
  const why = { absent: 'it is missing', damaged: 'it is damaged', locked: 'it has none' }[state];
  if (connection?.prepare('select 1 from partners limit 1').get() !== undefined) return;
  throw new OperatorError(
    `the partners, keys and grants in ${path} cannot be kept, because ${why}. ` +
      'Add --access to restore those of the backup; every partner is then suspended until "pds partner resume"',
  );
}

/** Copies what is restored, and what is kept, beside the database, under their final names. */
function stage(folder: string, staging: string, { catalog, access }: ReplacedDatabase, withAccess: boolean): string {
  // Left by a killed restore.
  rmSync(staging, { recursive: true, force: true });
  mkdirSync(staging, { mode: 0o700 });
  const staged = join(staging, basename(catalog.path));
  copyFileSync(join(folder, BACKUP_FILES.catalog), staged, constants.COPYFILE_FICLONE);
  const stagedAccess = sqliteFiles(staged).access;
  if (withAccess) copyFileSync(join(folder, BACKUP_FILES.access), stagedAccess, constants.COPYFILE_FICLONE);
  // By the connection that locks it: closing another descriptor of the file would end the lock.
  else access.connection?.prepare('vacuum into ?').run(stagedAccess);
  return staged;
}

/**
 * Drops every trigger and view in a backup: the service has none, and a planted one would run with the next access.
 *
 * @returns the dropped objects, as `access trigger forge_keys`.
 * @throws OperatorError if the file cannot be read.
 */
function dropPrograms(path: string, group: keyof typeof BACKUP_FILES): string[] {
  using file = new SqliteConnection(path);
  try {
    file.exec('pragma trusted_schema = off; pragma foreign_keys = off');
    // Otherwise the first migration would fail on its tables.
    if (file.prepare('select 1 from migrations limit 1').get() === undefined) throw new Error('it lists no migration');
    const programs = file.prepare("select type, name from sqlite_schema where type in ('trigger', 'view')").all();
    return programs.map(({ type, name }) => {
      file.exec(`drop ${String(type)} if exists "${String(name).replaceAll('"', '""')}"`);
      return printable(`${group} ${String(type)} ${String(name)}`);
    });
  } catch (error) {
    const reason = printable(error instanceof Error ? error.message : String(error));
    throw new OperatorError(
      `the backup's ${group} is not what "pds backup" created (${reason}): restore another backup. Nothing was replaced`,
      { cause: error },
    );
  }
}

/** Runs `work` on the copy, and closes it: closing the last connection checkpoints and removes the WAL. */
async function onStaged<T>(
  staged: string,
  { operator }: RestoreOptions,
  work: (database: OpenDatabase) => Promise<T>,
): Promise<T> {
  await using database = openForCommands({ engine: 'sqlite', path: staged }, operator);
  return await work(database);
}

/** Keeps the history of the replaced file, and suspends every partner of the restored one. */
function restrictAccess({ connection }: ReplacedFile, stagedAccess: string, clock: Clock): RestoreReport['access'] {
  const hasKeptHistory = connection !== null && keepHistory(connection, stagedAccess);
  using file = new SqliteConnection(stagedAccess);
  const names = (statement: string, ...values: string[]): string[] =>
    file
      .prepare(statement)
      .all(...values)
      .map(({ name }) => String(name))
      .toSorted();
  const suspendedBefore = names('select name from partners where suspended_at is not null and deleted_at is null');
  const suspended = names(
    'update partners set suspended_at = ? where suspended_at is null and deleted_at is null returning name',
    formatTimestamp(clock()),
  );
  return { suspended, suspendedBefore, hasKeptHistory };
}

/** Suffixes of SQLite's companion files. SQLite would apply one to any database file with the matching name. */
const COMPANIONS = ['-wal', '-shm', '-journal'];

/**
 * @returns the paths to which the replaced files were moved.
 * @throws OperatorError if another process created a file meanwhile.
 */
function putInPlace(staged: string, replaced: ReplacedDatabase, aside: string): string[] {
  const steps: { from: string; to: ReplacedFile }[] = [
    { from: sqliteFiles(staged).access, to: replaced.access },
    { from: staged, to: replaced.catalog },
  ];
  const folder = dirname(replaced.catalog.path);
  const keptAs = (path: string): string => `${path}.replaced-${aside}`;
  const there = steps.filter(({ to }) => to.state !== 'absent');
  for (const { from, to } of steps) {
    if (to.state === 'absent') makeLike(from, folder, 0o600);
    else makeLike(from, to.path);
    syncToDisk(from);
  }
  for (const { to } of there) keepAs(to.path, keptAs(to.path));
  syncToDisk(folder);
  for (const { from, to } of steps) {
    for (const companion of COMPANIONS) {
      // A locked file was checkpointed: its remaining companions are empty.
      if (to.state === 'locked') rmSync(to.path + companion, { force: true });
      else if (existsSync(to.path + companion)) renameSync(to.path + companion, keptAs(to.path) + companion);
    }
    if (to.state === 'absent') appear(from, to.path);
    else renameSync(from, to.path);
    // Before the next file: a power failure must not preserve only the second rename.
    syncToDisk(folder);
  }
  return there.map(({ to }) => keptAs(to.path)).toReversed();
}

/** Unlike a rename, does not replace a file that another process has created meanwhile. */
function appear(from: string, path: string): void {
  if (existsSync(path)) throw madeMeanwhile(path);
  try {
    linkSync(from, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') throw madeMeanwhile(path);
    renameSync(from, path);
  }
}

function madeMeanwhile(path: string): OperatorError {
  return new OperatorError(`${path} was created by another process meanwhile: stop it, and try again`);
}
