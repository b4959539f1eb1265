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
  type ReleaseEvent,
} from './event-log.ts';
import { deleteOtherCatalogs, ROOM_SHARE } from './sqlite/catalog-files.ts';
import { catalogPath } from './sqlite/file-names.ts';
import { openDraft } from './sqlite/sqlite.ts';

/** The event that publishes a change of the catalog. */
export interface CatalogEvent {
  readonly what: 'release' | 'reset';
  /** A timestamp that the event's must exceed. */
  readonly after?: string;
  /** SQLite: the release that a rollback without a number goes back to, if it is not the one before. */
  readonly madeFrom?: number | null;
  /** Writes to `access` what belongs to the event (keys and grants wait); `lastEvent` is the timestamp of the one before. */
  readonly complete: (transaction: Database, at: string, lastEvent: string) => Promise<void>;
}

interface CatalogChangeOptions extends Omit<WorkHooks, 'onProgress'> {
  readonly clock: Clock;
  /** SQLite: finds the path of a catalog to begin with instead of the current one, under the lock. */
  readonly source?: () => string | Promise<string>;
}

type Work<T> = (catalog: Database, number: number) => Promise<{ result: T; event: CatalogEvent | null }>;

/**
 * Changes the catalog as the only one to do so: readers see all of the change at once, or nothing. Its timestamp is drawn
 * last, under the lock that grants also take.
 *
 * On PostgreSQL that is one transaction. On SQLite the first change copies the catalog to a new file; once that is on
 * disk, the log names it. A process that dies before leaves a file without an event, which the next change deletes. A
 * reset without a change names the file that there is.
 *
 * @param work changes the catalog, and must not use `access`. Its event is null if nothing is to be published.
 * @returns its result, the timestamp of the event (null for none), and that of the event before (the epoch for none).
 * @throws OperatorError if an import ran for over a minute.
 */
export function changeCatalog<T>(database: OpenDatabase, options: CatalogChangeOptions, work: Work<T>) {
  const { catalogFiles } = database;
  return catalogFiles === undefined
    ? changeInTransaction(database, options, work)
    : changeCopy(database, catalogFiles, options, work);
}

async function changeInTransaction<T>(database: Database, options: CatalogChangeOptions, work: Work<T>) {
  const transaction = await database.kysely.startTransaction().execute();
  try {
    const changing = { ...database, kysely: transaction };
    await lockCatalog(changing, options);
    const number = await nextReleaseNumber(changing);
    const { result, event } = await work(changing, number);
    if (event === null) return { result, at: null, lastEvent: EPOCH };
    const stamp = (at: string): Promise<unknown> =>
      sql`insert into catalog.releases (number, at) values (${number}, ${at})`.execute(transaction);
    const appended = await append(changing, options, event, { number, file: null, made_from: null }, stamp);
    await transaction.commit().execute();
    return { result, ...appended };
  } finally {
    await rollBack(transaction);
  }
}

async function changeCopy<T>(
  database: OpenDatabase,
  files: CatalogFiles,
  options: CatalogChangeOptions,
  work: Work<T>,
) {
  const { source } = options;
  using _lock = await lockFiles(files, options);
  files.attachCurrent();
  await deleteUnused(database, files, Infinity);
  const before = await findLastRelease(database);
  const next = await nextReleaseNumber(database);
  const current = before?.file == null ? null : catalogPath(files.path, before.file);
  const draft =
    source === undefined
      ? openDraft(files.path, next, current, ROOM_SHARE)
      : openDraft(files.path, next, await source());
  let isNamed = false as boolean;
  try {
    const { result, event } = await work(draft.database, next);
    await pause(options);
    if (event === null) return { result, at: null, lastEvent: EPOCH };
    // A restored catalog can have later releases than the log, if the log was restored too.
    const after = latestOf(event.after ?? EPOCH, await readPublishedAt(draft.database));
    const number = source === undefined ? next : Math.max(next, (await readPublishedNumber(draft.database)) + 1);
    const made_from = event.madeFrom === undefined ? (before?.release ?? null) : event.madeFrom;
    const catalog = { number, file: draft.complete(), made_from };
    await pause(options);
    const appended = await inTransaction(database, async (transaction) => {
      const done = await append(transaction, options, { ...event, after }, catalog, (at) => draft.stamp(number, at));
      // From here on the log can name the file, even if the commit reports an error.
      isNamed = true;
      return done;
    });
    files.attachCurrent();
    // A reset can be undone: the catalog that it replaced stays.
    await deleteUnused(database, files, Math.max(event.what === 'reset' ? 2 : 1, keptReleases(database)));
    return { result, ...appended };
  } finally {
    if (!isNamed) draft.discard();
  }
}

/** @param stamp adds a release to the catalog. */
async function append(
  transaction: Database,
  options: CatalogChangeOptions,
  { what, after = EPOCH, complete }: CatalogEvent,
  catalog: Pick<ReleaseEvent, 'file' | 'made_from'> & { readonly number: number },
  stamp: (at: string) => unknown,
): Promise<{ at: string; lastEvent: string }> {
  const at = await lockLog(transaction, options.clock, latestOf(after, await readPublishedAt(transaction)));
  const lastEvent = await readLastEvent(transaction);
  if (what === 'release') await stamp(at);
  await appendEvent(transaction, at, { what, ...catalog });
  await complete(transaction, at, lastEvent);
  await pause(options);
  options.onCommit?.();
  return { at, lastEvent };
}

/** SQLite's statements resolve in microtasks: without a pause, signals are not handled. */
export async function pause({ throwIfInterrupted }: WorkHooks): Promise<void> {
  await setImmediate();
  throwIfInterrupted?.();
}

/** How many of the last catalogs stay. */
export function keptReleases({ operator }: Database): number {
  return operator?.keepReleases ?? 2;
}

/** Deletes the catalogs that were left by a process that died, and all but a number of those that the log names. */
async function deleteUnused(database: Database, files: CatalogFiles, kept: number): Promise<void> {
  const named = await listNamedFiles(database);
  deleteOtherCatalogs(files.path, new Set([...named].slice(0, kept)));
}
