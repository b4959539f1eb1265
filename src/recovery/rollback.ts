import { existsSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { changeCatalog, excludingImports, type CatalogEvent } from '../database/catalog-change.ts';
import type { WorkHooks } from '../database/catalog-lock.ts';
import type { CatalogFiles, Database, OpenDatabase } from '../database/database.ts';
import {
  appendEvent,
  findLastRelease,
  listReleases,
  lockLog,
  nextReleaseNumber,
  readLastEvent,
  type ReleaseEvent,
} from '../database/event-log.ts';
import { SCHEMAS, upgradeDraft } from '../database/migrations/migrator.ts';
import { catalogPath } from '../database/sqlite/catalog-files.ts';
import { SqliteConnection } from '../database/sqlite/sqlite-files.ts';
import { OperatorError } from '../operator-error.ts';
import type { Clock } from '../timestamp.ts';
import { noteRecovery } from './recover.ts';

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
}

export interface Rollback {
  readonly timestamp: string;
  /** The number of the event that this one replaces, and that to whose catalog it goes back. */
  readonly from: number;
  readonly to: number;
}

/**
 * Goes back to the catalog of an earlier release: appends a reset that names its file, so that every client reads
 * everything again. The file that is left stays, so that this can be undone. Servers keep running.
 *
 * @throws OperatorError if there is no such release or its file is gone, on PostgreSQL, or if an import ran for over a
 *   minute.
 */
export async function rollback(database: OpenDatabase, options: RollbackOptions): Promise<Rollback> {
  const { catalogFiles } = database;
  if (catalogFiles === undefined) {
    throw new OperatorError(
      'on PostgreSQL there is one catalog only. Import the directory of an export made before ("pds export") with ' +
        '--replace, or restore the server to a point in time and run "pds recover". Nothing was changed',
    );
  }
  const { clock } = options;
  for (;;) {
    const { from, target } = await findTarget(database, catalogFiles, options.release);
    if (target.file === null) throw new Error('a release without a file is not kept');
    if (isOlder(catalogFiles, target.file)) return rollBackToCopy(database, catalogFiles, from, target, options);
    const timestamp = await excludingImports(database, options, async (transaction) => {
      const at = await lockLog(transaction, clock);
      const last = await findLastRelease(transaction);
      // An import was published while this waited for it: then the question is another one.
      if (last?.release !== from || !isKept(catalogFiles, target)) return null;
      const lastEvent = await readLastEvent(transaction);
      const number = await nextReleaseNumber(transaction);
      await appendEvent(transaction, at, { what: 'reset', number, file: target.file, made_from: target.made_from });
      await noteRecovery(transaction, clock, at, { lastEvent }, auditOf(from, target));
      return at;
    });
    if (timestamp === null) continue;
    catalogFiles.attachCurrent();
    return { timestamp, from, to: target.release };
  }
}

const auditOf = (from: number, { release }: ReleaseEvent) => ({ action: 'rollback', details: { from, to: release } });

async function findTarget(
  database: Database,
  files: CatalogFiles,
  release: number | undefined,
): Promise<{ from: number; target: ReleaseEvent }> {
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
  if (!isKept(files, target)) {
    throw new OperatorError(
      `the catalog of release ${wanted} was deleted: PDS_KEEP_RELEASES says how many stay, and "pds releases" lists ` +
        'them. Nothing was changed',
    );
  }
  return { from: current.release, target };
}

/** Whether a version before this one made the catalog. */
function isOlder({ path }: CatalogFiles, file: string): boolean {
  const uri = `${pathToFileURL(catalogPath(path, file)).href}?mode=ro&immutable=1`;
  using catalog = new SqliteConnection(uri, { readOnly: true });
  const number = catalog.prepare('select max(number) as number from migrations').get()?.['number'];
  return Number(number) !== SCHEMAS.catalog.number;
}

async function rollBackToCopy(
  database: OpenDatabase,
  { path }: CatalogFiles,
  from: number,
  target: ReleaseEvent,
  { clock, onWaiting }: RollbackOptions,
): Promise<Rollback> {
  const source = catalogPath(path, target.file ?? '');
  const options = { clock, source, ...(onWaiting !== undefined && { onWaiting }) };
  const { at } = await changeCatalog(database, options, async (draft) => {
    await upgradeDraft(draft, clock);
    const complete: CatalogEvent['complete'] = async (transaction, timestamp, lastEvent) => {
      await noteRecovery(transaction, clock, timestamp, { lastEvent }, auditOf(from, target));
    };
    return { result: null, event: { what: 'reset', complete } };
  });
  return { timestamp: at ?? '', from, to: target.release };
}
