import { constants, copyFileSync, existsSync, linkSync, renameSync, rmSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { sql } from 'kysely';
import { changeCatalog, type CatalogEvent } from '../database/catalog-change.ts';
import {
  DatabaseUnavailableError,
  inTransaction,
  type Database,
  type OpenDatabase,
  type Operator,
} from '../database/database.ts';
import { appendEvent, lockLog, nextReleaseNumber, readLastEvent, readPublishedAt } from '../database/event-log.ts';
import { readSchemaState, refuseOlder, upgradeDraft } from '../database/migrations/migrator.ts';
import { openForCommands, openForServing } from '../database/open.ts';
import { catalogPath, newCatalogName } from '../database/sqlite/catalog-files.ts';
import { keepAs, makeLastFolder, makeLike, syncToDisk } from '../database/sqlite/durable-files.ts';
import { keepHistory, lockReplaced, type ReplacedFile } from '../database/sqlite/replaced-database.ts';
import {
  formerAccessFile,
  SQLITE_CORRUPT,
  SQLITE_NOTADB,
  sqliteCode,
  SqliteConnection,
} from '../database/sqlite/sqlite-files.ts';
import { openStaged } from '../database/sqlite/sqlite.ts';
import { upgradeStaged } from '../database/sqlite/take-over.ts';
import { OperatorError } from '../operator-error.ts';
import { printable } from '../printable.ts';
import { EPOCH, formatTimestamp, latestOf, type Clock } from '../timestamp.ts';
import { BACKUP_FILES, readManifest, verifyFiles, type BackupManifest } from './backup-manifest.ts';
import { noteRecovery, type Recovery } from './recover.ts';

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
 * Replaces the catalog of a SQLite database with that of a backup, while servers run: the backup's is copied to a new
 * file, and a reset in the log names it. Partners, keys and grants stay: a mistake or damage rarely affects those, and an
 * older state of them would undo revocations made since the backup. `pds rollback` undoes it.
 *
 * `withAccess` replaces partners and keys too, needs all processes stopped, suspends every partner, and keeps the audit
 * trail and usage since the backup. Everything is prepared beside the database; one rename then puts it in place. The
 * replaced files stay under other names.
 *
 * Timestamps continue after all those in the replaced database. A killed restore can simply be run again.
 *
 * @param path of the database's file.
 * @param folder made by `backup`.
 * @throws OperatorError if the folder holds no complete backup or a newer schema, if the database is in use and must not
 *   be, or if it has no readable partners to keep.
 */
export async function restore(path: string, folder: string, options: RestoreOptions): Promise<RestoreReport> {
  const { onProgress } = options;
  const manifest = readManifest(folder);
  const totalBytes = manifest.files.catalog.bytes + manifest.files.access.bytes;
  let doneBytes = 0;
  await verifyFiles(folder, manifest, (bytes) => onProgress?.('checking', (doneBytes += bytes), totalBytes));
  // Lets signals be handled: SQLite statements and file operations here are synchronous.
  const begin: Begin = async (step) => {
    await setImmediate();
    onProgress?.(step, 0, totalBytes);
  };
  return options.withAccess === true
    ? restoreAll(path, folder, manifest, options, begin)
    : restoreCatalog(path, folder, manifest, options, begin);
}

type Begin = (step: 'copying' | 'recovering' | 'replacing') => Promise<void>;

async function restoreCatalog(
  path: string,
  folder: string,
  manifest: BackupManifest,
  { clock, operator, after = EPOCH, onProgress }: RestoreOptions,
  begin: Begin,
): Promise<RestoreReport> {
  await using database = openToKeep(path, () => openForCommands({ engine: 'sqlite', path }, operator));
  refuseOlder(await readSchemaState(database));
  const { rows } = await sql`select id from access.partners limit 1`.execute(database.kysely);
  // A service that was started on a lost database has created an empty one.
  if (rows.length === 0) throw cannotKeep(path, 'it has none');
  await begin('copying');
  const before: { lastEvent: string | null } = { lastEvent: null };
  const throwIfInterrupted = () => onProgress?.('replacing', 0, 1);
  const options = { clock, source: join(folder, BACKUP_FILES.catalog), throwIfInterrupted };
  const { result, at } = await changeCatalog(database, options, async (draft) => {
    await begin('recovering');
    const dropped = await dropPrograms(draft, 'catalog');
    const migrations = await upgradeDraft(draft, clock);
    const complete: CatalogEvent['complete'] = async (transaction, timestamp, lastEvent) => {
      before.lastEvent = lastEvent;
      await noteRecovery(transaction, clock, timestamp, before, auditOf(manifest, dropped));
    };
    return { result: { dropped, migrations }, event: { what: 'reset', after, complete } };
  });
  const recovery = { timestamp: at ?? '', ...before, newestTrace: null };
  return { manifest, ...result, recovery, access: null, replaced: [], isLockUncertain: false };
}

const auditOf = ({ made_at }: BackupManifest, dropped: readonly string[]) => ({
  action: 'restore',
  details: { made_at, ...(dropped.length > 0 && { dropped }) },
});

/** @throws OperatorError if there are no partners that can be kept. */
function openToKeep(path: string, open: () => OpenDatabase): OpenDatabase {
  if (!existsSync(path)) throw cannotKeep(path, 'it is missing');
  try {
    return open();
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

async function restoreAll(
  path: string,
  folder: string,
  manifest: BackupManifest,
  { clock, operator, after = EPOCH }: RestoreOptions,
  begin: Begin,
): Promise<RestoreReport> {
  const removeFolder = makeLastFolder(dirname(resolve(path)));
  const replaced = lockAll(path);
  const [main] = replaced;
  const staged = `${path}.restoring`;
  const name = newCatalogName(path, 0);
  const catalog = catalogPath(path, name);
  let isDone = false;
  try {
    await begin('copying');
    removeStaged(staged);
    copyFileSync(join(folder, BACKUP_FILES.access), staged, constants.COPYFILE_FICLONE);
    copyFileSync(join(folder, BACKUP_FILES.catalog), catalog, constants.COPYFILE_FICLONE);
    await begin('recovering');
    const dropped = await dropAllPrograms(staged, catalog);
    const migrations = await upgradeStaged(staged, catalog, name, clock, {});
    const access = restrictAccess(replaced, staged, clock);
    const recovery = await appendReset(staged, catalog, name, {
      clock,
      after: latestOf(after, ...replaced.map(({ lastEvent }) => lastEvent)),
      change: auditOf(manifest, dropped),
      ...(operator !== undefined && { operator }),
    });
    await begin('replacing');
    const aside = formatTimestamp(clock()).replaceAll(':', '-');
    const kept = putInPlace(staged, catalog, replaced, aside);
    isDone = true;
    const isLockUncertain = replaced.some(({ state }) => state === 'damaged');
    return { manifest, dropped, migrations, recovery, access, replaced: kept, isLockUncertain };
  } finally {
    removeStaged(staged);
    if (!isDone && !isNamedBy(main, name)) rmSync(catalog, { force: true });
    for (const file of replaced) file.close();
    // Keeps the folder if the database is in it.
    removeFolder();
  }
}

/** Whether the rename was done although an error followed it. */
function isNamedBy({ path }: ReplacedFile, name: string): boolean {
  try {
    using file = new SqliteConnection(path, { readOnly: true });
    return file.prepare('select 1 from events where file = ?').get(name) !== undefined;
  } catch {
    return false;
  }
}

/** Locks the database, and what version 1.3 had beside it. */
function lockAll(path: string): [ReplacedFile, ...ReplacedFile[]] {
  const main = lockReplaced(path);
  if (!existsSync(formerAccessFile(path))) return [main];
  try {
    return [main, lockReplaced(formerAccessFile(path))];
  } catch (error) {
    main.close();
    throw error;
  }
}

async function dropAllPrograms(staged: string, catalog: string): Promise<string[]> {
  await using database = openStaged(staged, catalog);
  return [...(await dropPrograms(database, 'access')), ...(await dropPrograms(database, 'catalog'))];
}

interface ResetOptions {
  readonly clock: Clock;
  readonly after: string;
  readonly operator?: Operator;
  readonly change: Parameters<typeof noteRecovery>[4];
}

async function appendReset(
  staged: string,
  catalog: string,
  name: string,
  { clock, after, operator, change }: ResetOptions,
): Promise<Recovery> {
  await using opened = openStaged(staged, catalog);
  const database = operator === undefined ? opened : { ...opened, operator };
  const published = await readPublishedAt(database);
  const number = await nextReleaseNumber(database);
  return await inTransaction(database, async (transaction) => {
    const timestamp = await lockLog(transaction, clock, latestOf(after, published));
    const lastEvent = await readLastEvent(transaction);
    await appendEvent(transaction, timestamp, { what: 'reset', number, file: name, made_from: null });
    await noteRecovery(transaction, clock, timestamp, { lastEvent }, change);
    return { timestamp, lastEvent, newestTrace: null };
  });
}

/**
 * Reports what `restore` would replace, and changes nothing.
 *
 * @returns `replaced` is null if there is no database to replace. Its last event is null if it cannot be read.
 * @throws OperatorError if the folder holds no complete backup, or the database is in use and must not be.
 */
export async function previewRestore(
  path: string,
  folder: string,
  withAccess: boolean,
): Promise<{ manifest: BackupManifest; replaced: { lastEvent: string | null } | null }> {
  const manifest = readManifest(folder);
  if (!withAccess) {
    await using database = openToKeep(path, () => openForServing({ engine: 'sqlite', path }));
    refuseOlder(await readSchemaState(database));
    return { manifest, replaced: { lastEvent: await readLastEvent(database) } };
  }
  const locked = lockAll(path);
  try {
    // Locking ended this mode.
    for (const { connection } of locked) connection?.exec('pragma journal_mode = wal');
    const isThere = locked.some(({ state }) => state !== 'absent');
    const lastEvent = latestOf(EPOCH, ...locked.map((file) => file.lastEvent));
    return { manifest, replaced: isThere ? { lastEvent: lastEvent === EPOCH ? null : lastEvent } : null };
  } finally {
    for (const file of locked) file.close();
  }
}

/**
 * Drops every trigger and view in a backup: the service has none, and a planted one would run with the next access.
 *
 * @returns the dropped objects, as `access trigger forge_keys`.
 * @throws OperatorError if the catalog cannot be read.
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

/** Keeps the history of the replaced database, and suspends every partner of the restored one. */
function restrictAccess(replaced: readonly ReplacedFile[], staged: string, clock: Clock): RestoreReport['access'] {
  const hasKeptHistory = replaced.some(({ connection }) => connection !== null && keepHistory(connection, staged));
  using file = new SqliteConnection(staged);
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

function removeStaged(staged: string): void {
  for (const companion of ['', ...COMPANIONS]) rmSync(staged + companion, { force: true });
}

/**
 * @returns the paths of the replaced files.
 * @throws OperatorError if another process created the database meanwhile.
 */
function putInPlace(
  staged: string,
  catalog: string,
  replaced: readonly [ReplacedFile, ...ReplacedFile[]],
  aside: string,
): string[] {
  const [main, ...others] = replaced;
  const folder = dirname(main.path);
  for (const file of [staged, catalog]) {
    if (main.state === 'absent') makeLike(file, folder, 0o600);
    else makeLike(file, main.path);
    syncToDisk(file);
  }
  const former = catalogOf(main);
  const kept = [...replaced.filter(({ state }) => state !== 'absent').map(({ path }) => path), ...former].map(
    (path) => [path, `${path}.replaced-${aside}`] as const,
  );
  for (const [path, name] of kept) keepAs(path, name);
  syncToDisk(folder);
  for (const companion of COMPANIONS) {
    // A locked file was checkpointed: its remaining companions are empty.
    if (main.state === 'locked') rmSync(main.path + companion, { force: true });
    else if (existsSync(main.path + companion)) {
      renameSync(main.path + companion, `${main.path}.replaced-${aside}${companion}`);
    }
  }
  if (main.state === 'absent') appear(staged, main.path);
  else renameSync(staged, main.path);
  syncToDisk(folder);
  for (const { path } of others) for (const companion of ['', ...COMPANIONS]) rmSync(path + companion, { force: true });
  return kept.map(([, name]) => name);
}

/** The catalog that the replaced log names, which the next import deletes under its own name. */
function catalogOf({ path, connection }: ReplacedFile): string[] {
  try {
    const file = connection
      ?.prepare('select file from events where partner_id is null order by at desc limit 1')
      .get()?.['file'];
    return typeof file === 'string' && existsSync(catalogPath(path, file)) ? [catalogPath(path, file)] : [];
  } catch {
    return [];
  }
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
