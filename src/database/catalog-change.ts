import { setImmediate } from 'node:timers/promises';
import { sql } from 'kysely';
import { EPOCH, latestOf, type Clock } from '../timestamp.ts';
import { lockCatalog, lockFiles, type WorkHooks } from './catalog-lock.ts';
import { inTransaction, rollBack, type CatalogFiles, type Database, type OpenDatabase } from './database.ts';
import {
  appendEvent,
  findLastRelease,
  listNamedFiles,
  lockLog,
  nextReleaseNumber,
  readLastEvent,
  readPublishedAt,
  readPublishedNumber,
} from './event-log.ts';

/** The event that publishes a change of the catalog. */
export interface CatalogEvent {
  readonly what: 'release' | 'reset';
  /** A timestamp that the event's must exceed. */
  readonly after?: string;
  /** SQLite: the release that a rollback without a number goes back to, if it is not the one before. */
  readonly madeFrom?: number | null;
  /**
   * Writes to `access` what belongs to the event, such as its audit entry. Keys and grants wait for it.
   *
   * @param lastEvent the timestamp of the event before.
   */
  readonly complete: (transaction: Database, at: string, lastEvent: string) => Promise<void>;
}

export interface CatalogChangeOptions extends Omit<WorkHooks, 'onProgress'> {
  readonly clock: Clock;
  /** SQLite: finds the path of a catalog to change instead of the current one, under the lock. */
  readonly source?: () => string | Promise<string>;
}

/**
 * Changes the catalog as the only one to do so: readers see all of the change at once, or nothing. Its timestamp is drawn
 * last, under the lock that grants also take.
 *
 * On PostgreSQL that is one transaction. On SQLite the first change copies the catalog to a new file; once that is on
 * disk, the log names it. A process that dies before leaves a file without an event, which the next change deletes.
 *
 * @param work changes the catalog, and must not use `access`. Its event is null if nothing is to be published.
 * @returns its result, and the timestamp of the event; null for none.
 * @throws OperatorError if an import ran for over a minute.
 */
export async function changeCatalog<T>(
  database: OpenDatabase,
  options: CatalogChangeOptions,
  work: (catalog: Database, number: number) => Promise<{ result: T; event: CatalogEvent | null }>,
): Promise<{ result: T; at: string | null }> {
  const { catalogFiles } = database;
  return catalogFiles === undefined
    ? changeInTransaction(database, options, work)
    : changeCopy(database, catalogFiles, options, work);
}

type Work<T> = Parameters<typeof changeCatalog<T>>[2];
type Changed<T> = Awaited<ReturnType<typeof changeCatalog<T>>>;

async function changeInTransaction<T>(
  database: Database,
  options: CatalogChangeOptions,
  work: Work<T>,
): Promise<Changed<T>> {
  const { clock, onCommit } = options;
  const transaction = await database.kysely.startTransaction().execute();
  try {
    const changing = { ...database, kysely: transaction };
    await lockCatalog(changing, options);
    const number = await nextReleaseNumber(changing);
    const { result, event } = await work(changing, number);
    if (event === null) {
      await rollBack(transaction);
      return { result, at: null };
    }
    const at = await lockLog(changing, clock, latestOf(event.after ?? EPOCH, await readPublishedAt(changing)));
    const lastEvent = await readLastEvent(changing);
    if (event.what === 'release') {
      await sql`insert into catalog.releases (number, at) values (${number}, ${at})`.execute(transaction);
    }
    await appendEvent(changing, at, { what: event.what, number, file: null, made_from: null });
    await event.complete(changing, at, lastEvent);
    await pause(options);
    onCommit?.();
    await transaction.commit().execute();
    return { result, at };
  } catch (error) {
    await rollBack(transaction);
    throw error;
  }
}

async function changeCopy<T>(
  database: OpenDatabase,
  files: CatalogFiles,
  options: CatalogChangeOptions,
  work: Work<T>,
): Promise<Changed<T>> {
  const { clock, onCommit, source } = options;
  using _lock = await lockFiles(files, options);
  files.attachCurrent();
  await deleteUnused(database, files, Infinity);
  const before = await findLastRelease(database);
  const number = await nextReleaseNumber(database);
  const draft = files.openDraft(number, await source?.());
  let isNamed = false as boolean;
  try {
    const { result, event } = await work(draft.database, number);
    await pause(options);
    if (event === null) return { result, at: null };
    const after = latestOf(event.after ?? EPOCH, await readPublishedAt(draft.database));
    // A restored catalog can have later releases than the log, if the log was restored too.
    const release = source === undefined ? number : Math.max(number, (await readPublishedNumber(draft.database)) + 1);
    const madeFrom = event.madeFrom === undefined ? (before?.release ?? null) : event.madeFrom;
    const file = draft.complete();
    await pause(options);
    const at = await inTransaction(database, async (transaction) => {
      const drawn = await lockLog(transaction, clock, after);
      const lastEvent = await readLastEvent(transaction);
      if (event.what === 'release') draft.stamp(number, drawn);
      await appendEvent(transaction, drawn, { what: event.what, number: release, file, made_from: madeFrom });
      await event.complete(transaction, drawn, lastEvent);
      await pause(options);
      onCommit?.();
      // From here on the log can name the file, even if the commit reports an error.
      isNamed = true;
      return drawn;
    });
    files.attachCurrent();
    await deleteUnused(database, files, keptReleases(database));
    return { result, at };
  } finally {
    if (!isNamed) draft.discard();
  }
}

/** SQLite's statements resolve in microtasks: without a pause, signals are not handled. */
async function pause({ throwIfInterrupted }: CatalogChangeOptions): Promise<void> {
  await setImmediate();
  throwIfInterrupted?.();
}

/** How many of the last catalogs stay, unless an operator set another number. */
export const KEPT_RELEASES = 2;

export function keptReleases({ operator }: Database): number {
  return operator?.keepReleases ?? KEPT_RELEASES;
}

/** Deletes the catalogs that were left by a process that died, and all but a number of those that the log names. */
async function deleteUnused(database: Database, files: CatalogFiles, kept: number): Promise<void> {
  const named = await listNamedFiles(database);
  files.deleteOthers(new Set([...named].slice(0, kept)));
}

/**
 * Runs work that appends a release or reset without a change of the catalog, in a transaction, while nothing else can
 * change it. On SQLite the transaction must begin with `lockLog`, and can write `access` only.
 *
 * @throws OperatorError if an import ran for over a minute.
 */
export async function excludingImports<T>(
  database: Database,
  hooks: Pick<WorkHooks, 'onWaiting' | 'throwIfInterrupted'>,
  work: (transaction: Database) => Promise<T>,
): Promise<T> {
  const { catalogFiles } = database;
  using _lock = catalogFiles === undefined ? null : await lockFiles(catalogFiles, hooks);
  catalogFiles?.attachCurrent();
  return await inTransaction(database, async (transaction) => {
    await lockCatalog(transaction, hooks);
    return work(transaction);
  });
}
