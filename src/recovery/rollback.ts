import { existsSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { changeCatalog, excludingImports, type CatalogEvent } from '../database/catalog-change.ts';
import type { WorkHooks } from '../database/catalog-lock.ts';
import type { CatalogFiles, Database, OpenDatabase } from '../database/database.ts';
import { listReleases, lockLog, type ReleaseEvent } from '../database/event-log.ts';
import { SCHEMAS, upgradeDraft } from '../database/migrations/migrator.ts';
import { catalogPath } from '../database/sqlite/file-names.ts';
import { SqliteConnection } from '../database/sqlite/sqlite-files.ts';
import { OperatorError } from '../operator-error.ts';
import type { Clock } from '../timestamp.ts';
import { appendReset, noteRecovery, type Change } from './recover.ts';

/** A release or reset, and whether `rollback` can go back to its catalog. */
export interface ListedRelease extends ReleaseEvent {
  readonly isCurrent: boolean;
  readonly isKept: boolean;
}

/** The releases and resets in the log, the newest first. */
export async function listKeptReleases(database: Database, limit: number): Promise<ListedRelease[]> {
  const releases = await listReleases(database, limit);
  return releases.map((release, index) => ({
    ...release,
    isCurrent: index === 0,
    isKept: database.catalogFiles !== undefined && isKept(database.catalogFiles, release),
  }));
}

function isKept({ path }: CatalogFiles, { file }: ReleaseEvent): boolean {
  return file !== null && existsSync(catalogPath(path, file));
}

interface RollbackOptions extends Pick<WorkHooks, 'onWaiting'> {
  readonly clock: Clock;
  /** The release to go back to; by default the one that the current was made from. */
  readonly release?: number;
  /** The current release when the operator decided; by default that at the beginning. */
  readonly from?: number;
}

export interface Rollback {
  readonly timestamp: string;
  /** The number of the event that this one replaces, and that to whose catalog it goes back. */
  readonly from: number;
  readonly to: number;
}

/** Reports what `rollback` would do. Throws as it does, except for an import that runs. */
export async function previewRollback(database: OpenDatabase, release?: number): Promise<Omit<Rollback, 'timestamp'>> {
  return findTarget(database, filesOf(database), release);
}

/**
 * Goes back to the catalog of an earlier release: appends a reset that names its file, so that every client reads
 * everything again. The file that is left stays, so that this can be undone. Servers keep running.
 *
 * @throws OperatorError if there is no such release or its file is gone, on PostgreSQL, if an import ran for over a
 *   minute, or if one was published while this waited for it and no release was named: it can be the wrong one to undo.
 */
export async function rollback(database: OpenDatabase, options: RollbackOptions): Promise<Rollback> {
  const files = filesOf(database);
  const { clock, release } = options;
  const expected = await findTarget(database, files, release);
  const { from: decidedOn = expected.from } = options;
  const findAgain = async (current: Database): Promise<Target> => {
    const found = await findTarget(current, files, release);
    if (release !== undefined || found.from === decidedOn) return found;
    throw new OperatorError(
      `release ${found.from} was published while this waited. Look at "pds releases", and run "pds rollback RELEASE" ` +
        'with the one to go back to. Nothing was changed',
    );
  };
  if (isOlder(expected.path)) return rollBackToCopy(database, expected, findAgain, options);
  const done = await excludingImports(database, options, async (transaction) => {
    await lockLog(transaction, clock);
    const { from, to, catalog } = await findAgain(transaction);
    const { timestamp } = await appendReset(transaction, catalog, changeOf(from, to), { clock });
    return { timestamp, from, to };
  });
  files.attachCurrent();
  return done;
}

/** @throws OperatorError on PostgreSQL, with what to do instead. */
function filesOf({ catalogFiles }: Database): CatalogFiles {
  if (catalogFiles !== undefined) return catalogFiles;
  throw new OperatorError(
    'on PostgreSQL there is one catalog only. Import the directory of an export made before ("pds export") with ' +
      '--replace, or restore the server to a point in time and run "pds recover". Nothing was changed',
  );
}

const changeOf = (from: number, to: number): Change => ({ action: 'rollback', details: { from, to } });

/** The release that a rollback would go back to. */
interface Target extends Pick<Rollback, 'from' | 'to'> {
  readonly path: string;
  readonly catalog: Pick<ReleaseEvent, 'file' | 'made_from'>;
}

async function findTarget(database: Database, files: CatalogFiles, release: number | undefined): Promise<Target> {
  const releases = await listReleases(database, Number.MAX_SAFE_INTEGER);
  const [current] = releases;
  if (current === undefined) throw new OperatorError('there is no release yet: nothing was changed');
  const wanted = release ?? current.made_from;
  if (wanted === null) {
    throw new OperatorError('the current release is the first: there is none to go back to. Nothing was changed');
  }
  const target = releases.find((each) => each.release === wanted);
  if (target === undefined) {
    throw new OperatorError(`there is no release ${wanted} in the log: "pds releases" lists them. Nothing was changed`);
  }
  if (target.file !== null && target.file === current.file) {
    throw new OperatorError(`the catalog of release ${wanted} is the current one: nothing was changed`);
  }
  if (target.file === null || !isKept(files, target)) {
    throw new OperatorError(
      `the catalog of release ${wanted} was deleted: PDS_KEEP_RELEASES says how many stay, and "pds releases" lists ` +
        'them. Nothing was changed',
    );
  }
  return { from: current.release, to: wanted, path: catalogPath(files.path, target.file), catalog: target };
}

/** Whether a version before this one made the catalog. */
function isOlder(path: string): boolean {
  using catalog = new SqliteConnection(`${pathToFileURL(path).href}?mode=ro&immutable=1`, { readOnly: true });
  const number = catalog.prepare('select max(number) as number from migrations').get()?.['number'];
  return Number(number) !== SCHEMAS.catalog.number;
}

/** Goes back to an upgraded copy. */
async function rollBackToCopy(
  database: OpenDatabase,
  expected: Target,
  findAgain: (current: Database) => Promise<Target>,
  { clock, onWaiting }: RollbackOptions,
): Promise<Rollback> {
  let found = expected;
  const source = async (): Promise<string> => {
    found = await findAgain(database);
    return found.path;
  };
  const { at } = await changeCatalog(database, { clock, source, ...(onWaiting && { onWaiting }) }, async (draft) => {
    await upgradeDraft(draft, clock);
    const complete: CatalogEvent['complete'] = (transaction, timestamp, lastEvent) =>
      noteRecovery(transaction, { timestamp, lastEvent }, changeOf(found.from, found.to), clock);
    return { result: null, event: { what: 'reset', madeFrom: found.catalog.made_from, complete } };
  });
  return { timestamp: at ?? '', from: found.from, to: found.to };
}
