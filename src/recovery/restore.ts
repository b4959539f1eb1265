import { copyFileSync, existsSync, rmSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { sql } from 'kysely';
import { changeCatalog } from '../database/catalog-change.ts';
import type { WorkHooks } from '../database/catalog-lock.ts';
import { DatabaseUnavailableError, type Database, type OpenDatabase, type Operator } from '../database/database.ts';
import { readLastEvent } from '../database/event-log.ts';
import { migrate, readSchemaState, refuseOlder, upgradeDraft } from '../database/migrations/migrator.ts';
import { openForCommands, openForServing } from '../database/open.ts';
import { countRows } from '../database/rows.ts';
import { copyCatalog } from '../database/sqlite/catalog-files.ts';
import { makeLastFolder, makeLike, syncToDisk } from '../database/sqlite/durable-files.ts';
import {
  COMPANIONS,
  keepFiles,
  keepHistory,
  lockReplaced,
  removeFile,
  replaceFile,
  type ReplacedFile,
} from '../database/sqlite/replaced-database.ts';
import { catalogPath, listCatalogFiles, newCatalogName } from '../database/sqlite/file-names.ts';
import {
  FormerDatabaseError,
  makePrivateFile,
  sizeOf,
  SQLITE_CORRUPT,
  SQLITE_NOTADB,
  sqliteCode,
} from '../database/sqlite/sqlite-files.ts';
import { openStaged } from '../database/sqlite/sqlite.ts';
import { OperatorError } from '../operator-error.ts';
import { printable } from '../printable.ts';
import { EPOCH, formatTimestamp, latestOf, type Clock } from '../timestamp.ts';
import { BACKUP_FILES, readManifest, verifyFiles, type BackupManifest } from './backup-manifest.ts';
import { recoveryOf, resetOf, unlessNone, type Recovery } from './recover.ts';

interface RestoreOptions extends Pick<WorkHooks, 'onWaiting'> {
  readonly clock: Clock;
  readonly operator?: Operator;
  /** Also restores partners, keys and grants, and suspends every partner. */
  readonly withAccess?: boolean;
  /** A timestamp that partners may have seen, if the replaced database does not contain it. */
  readonly after?: string;
  /**
   * Awaited before anything else if there is a database to replace, whose last event is null if it cannot be read. If it
   * throws, nothing is changed.
   */
  readonly confirm?: (manifest: BackupManifest, lastEvent: string | null) => Promise<void>;
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
  /** With the backup's partners, keys and grants: the names of partners that were suspended now, and in the backup. */
  readonly access: {
    readonly suspended: readonly string[];
    readonly suspendedBefore: readonly string[];
    /** False if the replaced database was missing, unreadable or another one. */
    readonly hasKeptHistory: boolean;
  } | null;
  /** The current paths of the replaced files. */
  readonly replaced: readonly string[];
  /** Whether the replaced file was too damaged to tell whether a process had it open. */
  readonly isLockUncertain: boolean;
}

/**
 * Replaces the catalog of a SQLite database with that of a backup, while servers run: a reset in the log names a copy.
 * Partners, keys and grants stay: an older state of them would undo revocations made since the backup. `pds rollback`
 * undoes it.
 *
 * `withAccess` replaces partners and keys too, needs all processes stopped, suspends every partner, and keeps the audit
 * trail and usage since the backup. Everything is prepared beside the database; one rename then puts it in place. The
 * replaced files stay under other names.
 *
 * Timestamps continue after all those in the replaced database. A killed restore can simply be run again.
 *
 * @param folder made by `backup`.
 * @throws OperatorError if the folder holds no complete backup or a newer schema, if the database is in use and must not
 *   be, or if it has no readable partners to keep.
 */
export async function restore(path: string, folder: string, options: RestoreOptions): Promise<RestoreReport> {
  const restoring = { ...options, path, folder, manifest: readManifest(folder) };
  return options.withAccess === true ? restoreAll(restoring) : restoreCatalog(restoring);
}

interface Restoring extends RestoreOptions {
  readonly path: string;
  readonly folder: string;
  readonly manifest: BackupManifest;
}

/** Lets signals be handled: SQLite statements and file operations here are synchronous. */
async function begin({ onProgress }: Restoring, step: 'copying' | 'recovering' | 'replacing'): Promise<void> {
  await setImmediate();
  onProgress?.(step, 0, 1);
}

async function restoreCatalog(restoring: Restoring): Promise<RestoreReport> {
  const { path, folder, manifest, clock, operator, after, confirm, onProgress } = restoring;
  await using database = openToKeep(path, operator);
  const state = await readSchemaState(database);
  if (state.isEmpty) throw cannotKeep(path, 'it is empty');
  refuseOlder(state);
  // A service that was started on a lost database has created an empty one.
  if ((await countRows(database, 'access.partners')) === 0) throw cannotKeep(path, 'it has none');
  await confirm?.(manifest, await readLastEvent(database));
  await verifyFiles(folder, manifest, (done, total) => onProgress?.('checking', done, total));
  await begin(restoring, 'copying');
  const options = {
    ...restoring,
    source: () => join(folder, BACKUP_FILES.catalog),
    throwIfInterrupted: () => onProgress?.('replacing', 0, 1),
  };
  const { result, ...reset } = await changeCatalog(database, options, async (draft) => {
    await begin(restoring, 'recovering');
    const dropped = await dropPrograms(draft, 'catalog');
    const migrations = await upgradeDraft(draft, clock);
    return { result: { dropped, migrations }, event: resetOf(changeOf(manifest, dropped), clock, after) };
  });
  return { manifest, ...result, recovery: recoveryOf(reset), access: null, replaced: [], isLockUncertain: false };
}

const changeOf = ({ made_at }: BackupManifest, dropped: readonly string[]) => ({
  action: 'restore',
  details: { made_at, ...(dropped.length > 0 && { dropped }) },
});

/** @throws OperatorError if there are no partners that can be kept. */
function openToKeep(path: string, operator: Operator | undefined): OpenDatabase {
  if (sizeOf(path) === 0) throw cannotKeep(path, existsSync(path) ? 'it is empty' : 'it is missing');
  try {
    return openForCommands({ engine: 'sqlite', path }, operator, true);
  } catch (error) {
    const code = error instanceof DatabaseUnavailableError ? sqliteCode(error.cause) : null;
    if (code === SQLITE_NOTADB || code === SQLITE_CORRUPT) throw cannotKeep(path, 'it is damaged');
    throw error;
  }
}

function cannotKeep(path: string, why: string): OperatorError {
  return new OperatorError(
    `the partners, keys and grants in ${path} cannot be kept, because ${why}. ` +
      'Add --access to restore those of the backup; every partner is then suspended until "pds partner resume"',
  );
}

async function restoreAll(restoring: Restoring): Promise<RestoreReport> {
  const { path, folder, manifest, clock, confirm, onProgress } = restoring;
  const isNew = sizeOf(path) === 0;
  if (!isNew) await confirm?.(manifest, await readReplaced(path));
  await verifyFiles(folder, manifest, (done, total) => onProgress?.('checking', done, total));
  // Refuses a former database before it is locked, which changes its file.
  await readReplaced(path);
  const removeFolder = makeLastFolder(dirname(resolve(path)));
  // Locked like one that is replaced, so that no service creates it meanwhile.
  if (isNew) makePrivateFile(path);
  const main = lockReplaced(path);
  const staged = `${path}.restoring`;
  const name = newCatalogName(path, 0);
  const catalog = catalogPath(path, name);
  const catalogsBefore = listCatalogFiles(path);
  let isDone = false;
  try {
    if (isNew) makeLike(path, dirname(path), 0o600);
    await begin(restoring, 'copying');
    removeFile(staged);
    copyFileSync(join(folder, BACKUP_FILES.access), staged);
    copyCatalog(join(folder, BACKUP_FILES.catalog), catalog, path);
    await begin(restoring, 'recovering');
    const prepared = await prepareAll(restoring, main, staged, name);
    await begin(restoring, 'replacing');
    makeLike(staged, path);
    for (const file of [staged, catalog]) syncToDisk(file);
    const suffix = `replaced-${formatTimestamp(clock()).replaceAll(':', '-')}`;
    const replaced = keepFiles(isNew ? catalogsBefore : filesOf(path, main, catalogsBefore), suffix);
    replaceFile(staged, path);
    isDone = true;
    syncToDisk(dirname(path));
    return { manifest, ...prepared, replaced, isLockUncertain: main.isDamaged };
  } finally {
    removeFile(staged);
    if (!isDone) {
      rmSync(catalog, { force: true });
      if (isNew) rmSync(path, { force: true });
    }
    main[Symbol.dispose]();
    // Keeps the folder if the database is in it.
    removeFolder();
  }
}

/**
 * The last event of a database; null if none can be read.
 *
 * @throws FormerDatabaseError for a database of a version before 2.0: its partners and keys are not in this file.
 */
async function readReplaced(path: string): Promise<string | null> {
  try {
    await using database = openForServing({ engine: 'sqlite', path }, null, true);
    return unlessNone(await readLastEvent(database));
  } catch (error) {
    // Whatever else is wrong with it, it is replaced.
    if (error instanceof FormerDatabaseError) throw error;
    return null;
  }
}

/** Upgrades a copy of the backup, keeps the history of the replaced database, suspends every partner and appends a reset. */
async function prepareAll(
  { path, manifest, clock, operator, after = EPOCH }: Restoring,
  main: ReplacedFile,
  staged: string,
  name: string,
) {
  await using database = Object.assign(openStaged(staged, catalogPath(path, name)), operator && { operator });
  const dropped = [...(await dropPrograms(database, 'access')), ...(await dropPrograms(database, 'catalog'))];
  const migrations = await migrate(database, clock);
  const hasKeptHistory = main.connection !== null && keepHistory(main.connection, staged);
  const access = { ...(await suspendAll(database, clock)), hasKeptHistory };
  const event = resetOf(changeOf(manifest, dropped), clock, latestOf(after, main.lastEvent));
  const reset = await changeCatalog(database, { clock }, async () => ({ result: null, event }));
  // The reset and the last release before it name this copy of the catalog.
  await sql`update access.events set file = ${name} where at in (
    select at from access.events where partner_id is null order by at desc limit 2)`.execute(database.kysely);
  return { dropped, migrations, recovery: recoveryOf(reset), access };
}

async function suspendAll({ kysely }: Database, clock: Clock) {
  const before = await sql<{ name: string }>`select name from access.partners
    where suspended_at is not null and deleted_at is null order by name`.execute(kysely);
  const now = await sql<{ name: string }>`update access.partners set suspended_at = ${formatTimestamp(clock())}
    where suspended_at is null and deleted_at is null returning name`.execute(kysely);
  const namesOf = ({ rows }: typeof now): string[] => rows.map(({ name }) => name).toSorted();
  return { suspended: namesOf(now), suspendedBefore: namesOf(before) };
}

/**
 * The files to keep under other names, with the catalog that the log names: the next import would delete it. A damaged log
 * names none, so that all catalogs stay.
 */
function filesOf(path: string, { connection }: ReplacedFile, catalogs: readonly string[]): string[] {
  let current = catalogs;
  try {
    const last = connection?.prepare('select file from events where partner_id is null order by at desc limit 1').get();
    if (typeof last?.['file'] === 'string') current = [catalogPath(path, last['file'])];
  } catch {
    // Not even this can be read.
  }
  const names = [path, ...COMPANIONS.map((companion) => path + companion), ...current];
  return names.filter((file) => existsSync(file));
}

/**
 * Drops every trigger and view in a backup: the service has none, and a planted one would run with the next access.
 *
 * @returns what it dropped, as `access trigger forge_keys`.
 * @throws OperatorError if the group of tables cannot be read.
 */
async function dropPrograms({ kysely }: Database, group: keyof typeof BACKUP_FILES): Promise<string[]> {
  try {
    // Otherwise the first migration would fail on its tables.
    const { rows: ledger } = await sql`select 1 from ${sql.table(`${group}.migrations`)} limit 1`.execute(kysely);
    if (ledger.length === 0) throw new Error('it lists no migration');
    const { rows } = await sql<{ type: string; name: string }>`select type, name
      from ${sql.table(`${group}.sqlite_schema`)} where type in ('trigger', 'view')`.execute(kysely);
    for (const { type, name } of rows) {
      await sql`drop ${sql.raw(type)} if exists ${sql.id(group, name)}`.execute(kysely);
    }
    return rows.map(({ type, name }) => printable(`${group} ${type} ${name}`));
  } catch (error) {
    const reason = printable(error instanceof Error ? error.message : String(error));
    throw new OperatorError(
      `the backup's ${group} is not what "pds backup" created (${reason}): restore another backup. Nothing was replaced`,
      { cause: error },
    );
  }
}
