import { existsSync, statfsSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import type { Environment } from '../config.ts';
import { openForServing } from '../database/database.ts';
import { DatabaseUnavailableError } from '../database/errors.ts';
import { reasonNotUsable, refuseLoneFiles, sqliteFiles, type SqliteFiles } from '../database/sqlite-files.ts';
import type { Clock } from '../timestamp.ts';
import { checkContents, EMPTY_ADVICE } from './contents.ts';
import { fail, ok, warn, type Finding } from './finding.ts';

const about = 'database';

const UNUSABLE_ADVICE = 'until then, neither a server nor a command can use it';

/** Checks the files of a SQLite database. Creates none, and opens them read-only. */
export async function checkSqlite(
  path: string,
  environment: Environment,
  clock: Clock,
): Promise<{ findings: Finding[]; isReadable: boolean }> {
  const unreadable = (finding: Finding) => ({ findings: [finding], isReadable: false });
  const files = sqliteFiles(path);
  const both = [files.catalog, files.access];
  // Commands create the last folder of the path together with the files.
  const folder = dirname(resolve(path));
  const problem = existsSync(folder) ? both.map(reasonNotUsable).find((found) => found !== null) : null;
  if (problem != null) return unreadable(fail(about, problem, UNUSABLE_ADVICE));
  if (!both.every((file) => existsSync(file))) return unreadable(checkMissing(files, folder));
  try {
    const database = openForServing({ engine: 'sqlite', path });
    try {
      const { findings: contents, isReadable } = await checkContents(database, environment, clock);
      const access = ok(about, `${both.join(' and ')} can be read and written`);
      return { findings: [access, ...checkRoom(folder, files), ...contents], isReadable };
    } finally {
      await database.close();
    }
  } catch (error) {
    if (!(error instanceof DatabaseUnavailableError)) throw error;
    return unreadable(fail(about, error.message, UNUSABLE_ADVICE));
  }
}

function checkMissing(files: SqliteFiles, folder: string): Finding {
  try {
    refuseLoneFiles(files);
  } catch (error) {
    if (!(error instanceof DatabaseUnavailableError)) throw error;
    return fail(about, error.message, 'nothing was looked at inside: the two belong together');
  }
  if (!existsSync(folder)) {
    const missing = reasonNotUsable(existsSync(dirname(folder)) ? folder : files.catalog);
    if (missing !== null) return fail(about, missing, 'a server or a command makes the last folder of the path alone');
  }
  return warn(about, `there is no ${files.catalog} yet`, EMPTY_ADVICE);
}

function checkRoom(folder: string, { catalog }: SqliteFiles): Finding[] {
  const { bavail, bsize } = statfsSync(folder);
  const freeBytes = bavail * bsize;
  const bytes = statSync(catalog).size;
  const message = `${megabytes(freeBytes)} are free in ${folder}, and the catalog has ${megabytes(bytes)}`;
  if (freeBytes > bytes) return [ok('disk', message)];
  return [warn('disk', message, 'free some: an import may write as much as the catalog again, and so does a restore')];
}

function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(1)} MB`;
}
