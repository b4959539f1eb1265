import { constants, copyFileSync, existsSync, linkSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import type { Operator } from '../database/audit.ts';
import { openForCommands } from '../database/database.ts';
import { prepareSchema } from '../database/migrator.ts';
import { sqliteFiles } from '../database/sqlite-files.ts';
import { EPOCH, formatInstant, latestOf, type Clock } from '../instant.ts';
import { BACKUP_FILES, readManifest, verifyFiles, type BackupManifest } from './backup-manifest.ts';
import { carryOver, type CarriedOver, type Gone } from './carry-over.ts';
import { keepAs, makeLastFolder, makeLike, moveIfThere, syncToDisk } from './durable-files.ts';
import { removeForeignSchema } from './foreign-schema.ts';
import { recover, type Recovery } from './recover.ts';
import { RecoveryError } from './recovery-error.ts';
import { lockReplaced, type ReplacedDatabase, type ReplacedFile } from './replaced-database.ts';

export interface RestoreOptions {
  readonly clock: Clock;
  readonly operator?: Operator;
  /** An instant that partners may have seen, where the replaced database does not tell. */
  readonly after?: string;
  /**
   * Called as it goes on, with the bytes of the backup that were read where these are what takes the time. Until the
   * step `replacing` is begun, an error that it throws leaves the database as it was.
   */
  readonly onProgress?: (
    step: 'checking' | 'copying' | 'recovering' | 'replacing',
    doneBytes: number,
    totalBytes: number,
  ) => void;
}

export interface RestoreReport {
  readonly manifest: BackupManifest;
  /** Triggers, views, tables and indexes in the backup that are not this service's, and were dropped. */
  readonly dropped: readonly string[];
  /** Names of the migrations that ran on what was restored. */
  readonly migrations: readonly string[];
  readonly recovery: Recovery;
  /** Null where the replaced database could not be read, or there was none, or it was another. */
  readonly kept: { readonly carriedOver: CarriedOver; readonly gone: Gone } | null;
  /** Where the replaced files are now. */
  readonly replaced: readonly string[];
  /** True where a replaced file was too damaged to tell whether a process had it open. */
  readonly isLockUncertain: boolean;
}

/**
 * Puts a backup in the place of a SQLite database.
 *
 * The backup is checked and copied beside the database, cleaned of schema that is not ours, migrated, and recovered there: its
 * instants go on after all that the replaced database knows, and what was taken away from
 * partners since the backup stays taken away. Then each file takes its place by a rename, the
 * catalog first. Between the two renames the database is as after a publication whose process
 * died between its two commits, which readers and writers know; so at every moment it is whole,
 * and a restore that was killed is just run again. The replaced files stay beside it.
 *
 * @param path of the catalog's file.
 * @param folder what `backup` made.
 * @throws RecoveryError where the folder holds no whole backup, a newer schema, or the database is in use.
 */
export async function restore(path: string, folder: string, options: RestoreOptions): Promise<RestoreReport> {
  const { clock, onProgress } = options;
  const manifest = readManifest(folder);
  const totalBytes = manifest.files.catalog.bytes + manifest.files.access.bytes;
  let doneBytes = 0;
  await verifyFiles(folder, manifest, (bytes) => onProgress?.('checking', (doneBytes += bytes), totalBytes));

  // Nothing else lets signals be handled: SQLite's statements and the operations on files are synchronous.
  const begin = async (step: 'copying' | 'recovering' | 'replacing'): Promise<void> => {
    await setImmediate();
    onProgress?.(step, 0, totalBytes);
  };
  const removeFolder = makeLastFolder(dirname(resolve(path)));
  const replaced = lockReplaced(path);
  const staging = `${path}.restoring`;
  try {
    await begin('copying');
    const staged = stage(folder, staging, path);
    await begin('recovering');
    const dropped = [
      ...removeForeignSchema(staged, 'catalog'),
      ...removeForeignSchema(sqliteFiles(staged).access, 'access'),
    ];
    const { migrations, recovery, kept } = await renew(
      staged,
      replaced,
      { made_at: manifest.made_at, ...(dropped.length > 0 && { dropped }) },
      options,
      () => begin('recovering'),
    );
    await begin('replacing');
    const aside = formatInstant(clock()).replaceAll(':', '-');
    return {
      ...{ manifest, dropped, migrations, recovery, kept },
      replaced: putInPlace(staged, replaced, aside),
      isLockUncertain: [replaced.catalog, replaced.access].some(({ state }) => state === 'damaged'),
    };
  } finally {
    rmSync(staging, { recursive: true, force: true });
    replaced.close();
    // Unless the database is in it.
    removeFolder();
  }
}

/** Copies the backup's files beside the database, under the names that they will have. */
function stage(folder: string, staging: string, path: string): string {
  // What a restore that was killed has left.
  rmSync(staging, { recursive: true, force: true });
  mkdirSync(staging, { mode: 0o700 });
  const staged = join(staging, basename(path));
  copyFileSync(join(folder, BACKUP_FILES.catalog), staged, constants.COPYFILE_FICLONE);
  copyFileSync(join(folder, BACKUP_FILES.access), sqliteFiles(staged).access, constants.COPYFILE_FICLONE);
  return staged;
}

/** Makes of the copy what may take the place of the replaced database. */
async function renew(
  staged: string,
  replaced: ReplacedDatabase,
  details: Readonly<Record<string, unknown>>,
  { clock, operator, after = EPOCH }: RestoreOptions,
  pause: () => Promise<void>,
): Promise<Pick<RestoreReport, 'migrations' | 'recovery' | 'kept'>> {
  const database = openForCommands({ engine: 'sqlite', path: staged }, operator);
  try {
    const migrations = await prepareSchema(database, clock);
    await pause();
    const { connection } = replaced.access;
    const kept = connection === null ? null : carryOver(connection, sqliteFiles(staged).access);
    await pause();
    const recovery = await recover(database, {
      clock,
      after: latestOf(after, replaced.lastEvent),
      change: { action: 'restore', details },
    });
    return { migrations, recovery, kept };
  } finally {
    // The last connection takes what is in the log into the file, and removes the log.
    await database.close();
  }
}

/** What SQLite keeps beside a file, and would take for the log of whatever has its name. */
const COMPANIONS = ['-wal', '-shm', '-journal'];

/** @returns the names under which the replaced files are kept. */
function putInPlace(staged: string, replaced: ReplacedDatabase, aside: string): string[] {
  const steps: { from: string; to: ReplacedFile }[] = [
    { from: staged, to: replaced.catalog },
    { from: sqliteFiles(staged).access, to: replaced.access },
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
      // Of a file that was locked, all is in the file; what is left of its logs holds nothing.
      if (to.state === 'locked') rmSync(to.path + companion, { force: true });
      else moveIfThere(to.path + companion, keptAs(to.path) + companion);
    }
    if (to.state === 'absent') appear(from, to.path);
    else renameSync(from, to.path);
    // Before the next file: a power cut must not keep the second rename alone.
    syncToDisk(folder);
  }
  return there.map(({ to }) => keptAs(to.path));
}

/** Unlike a rename, it does not replace a file that a process has made meanwhile. */
function appear(from: string, path: string): void {
  if (existsSync(path)) throw madeMeanwhile(path);
  try {
    linkSync(from, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') throw madeMeanwhile(path);
    renameSync(from, path);
  }
}

function madeMeanwhile(path: string): RecoveryError {
  return new RecoveryError(`${path} was made by another process meanwhile: stop it, and try again`);
}
