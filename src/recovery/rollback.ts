import { existsSync } from 'node:fs';
import { changeCatalog } from '../database/catalog-change.ts';
import type { WorkHooks } from '../database/catalog-lock.ts';
import type { CatalogFiles, Database, OpenDatabase } from '../database/database.ts';
import { listReleases, type ReleaseEvent } from '../database/event-log.ts';
import { upgradeDraft } from '../database/migrations/migrator.ts';
import { catalogPath } from '../database/sqlite/file-names.ts';
import { OperatorError } from '../operator-error.ts';
import type { Clock } from '../timestamp.ts';
import { resetOf } from './recover.ts';

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
  /** By default the one that the current was made from. */
  readonly release?: number;
  /** Awaited before anything else, with what the rollback would do. If it throws, nothing is changed. */
  readonly confirm?: (planned: Omit<Rollback, 'timestamp'>) => Promise<void>;
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
 * @throws OperatorError if there is no such release or its file is gone, on PostgreSQL, if an import ran for over a
 *   minute, or if one was published while this waited for it and no release was named: it can be the wrong one to undo.
 */
export async function rollback(database: OpenDatabase, options: RollbackOptions): Promise<Rollback> {
  const files = filesOf(database);
  const { clock, release, confirm } = options;
  let target = await findTarget(database, files, release);
  const { from: decidedOn } = target;
  await confirm?.(target);
  const source = async (): Promise<string> => {
    target = await findTarget(database, files, release);
    if (release !== undefined || target.from === decidedOn) return target.path;
    throw new OperatorError(
      `release ${target.from} was published while this waited. Look at "pds releases", and run "pds rollback RELEASE" ` +
        'with the one to go back to. Nothing was changed',
    );
  };
  const { at } = await changeCatalog(database, { ...options, source }, async (draft) => {
    // A catalog of an older version is copied, and the copy upgraded.
    await upgradeDraft(draft, clock);
    const { from, to, madeFrom } = target;
    return { result: null, event: { ...resetOf({ action: 'rollback', details: { from, to } }, clock), madeFrom } };
  });
  return { timestamp: at ?? '', from: target.from, to: target.to };
}

/** @throws OperatorError on PostgreSQL, with what to do instead. */
function filesOf({ catalogFiles }: Database): CatalogFiles {
  if (catalogFiles !== undefined) return catalogFiles;
  throw new OperatorError(
    'on PostgreSQL there is one catalog only. Import the directory of an export made before ("pds export") with ' +
      '--replace, or restore the server to a point in time and run "pds recover". Nothing was changed',
  );
}

/** The release that a rollback would go back to, with the path of its catalog. */
async function findTarget(database: Database, files: CatalogFiles, release: number | undefined) {
  const releases = await listReleases(database, Number.MAX_SAFE_INTEGER);
  const [current] = releases;
  if (current === undefined) throw new OperatorError('there is no release yet: nothing was changed');
  const wanted = release ?? current.made_from;
  if (wanted === null) {
    throw new OperatorError(
      `release ${current.release} was made from no other: "pds releases" lists those that can be named. Nothing was changed`,
    );
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
      `the catalog of release ${wanted} was deleted: PDS_KEEP_RELEASES sets how many are kept, and "pds releases" lists ` +
        'them. Nothing was changed',
    );
  }
  return { from: current.release, to: wanted, path: catalogPath(files.path, target.file), madeFrom: target.made_from };
}
