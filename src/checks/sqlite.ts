import { existsSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import type { Environment } from '../config.ts';
import { openForServing } from '../database/open.ts';
import { DatabaseUnavailableError } from '../database/database.ts';
import {
  reasonNotUsable,
  refuseLoneFiles,
  sqliteFiles,
  type SqliteFiles,
  freeBytes,
  logBytes,
  SMALL_BYTES,
  SqliteConnection,
} from '../database/sqlite/sqlite-files.ts';
import type { Clock } from '../timestamp.ts';
import { checkContents, EMPTY_ADVICE } from './contents.ts';
import { fail, ok, warn, type Finding } from './finding.ts';

const about = 'database';

/** Reported for each damaged file. */
const MAX_PROBLEMS = 3;

const UNUSABLE_ADVICE = 'Fix this first: neither servers nor commands can use the database.';

/**
 * Checks the files of a SQLite database, but not for damage. Creates none, and opens them read-only. `isUsable`: they
 * can be opened.
 */
export async function checkSqlite(
  path: string,
  environment: Environment,
  clock: Clock,
): Promise<{ findings: Finding[]; isUsable: boolean; isReadable: boolean }> {
  const unreadable = (finding: Finding) => ({ findings: [finding], isUsable: false, isReadable: false });
  const files = sqliteFiles(path);
  const both = [files.catalog, files.access];
  // Commands create the last folder of the path together with the files.
  const folder = dirname(resolve(path));
  const problem = existsSync(folder) ? both.map(reasonNotUsable).find((reason) => reason !== null) : null;
  if (problem != null) return unreadable(fail(about, problem, UNUSABLE_ADVICE));
  if (!both.every((file) => existsSync(file))) return unreadable(checkMissing(files, folder));
  try {
    await using database = openForServing({ engine: 'sqlite', path });
    const { findings: contents, isReadable } = await checkContents(database, environment, clock);
    const access = ok(about, `${both.join(' and ')} are readable and writable`);
    return { findings: [access, checkRoom(folder, files), ...contents], isUsable: true, isReadable };
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
    return fail(about, error.message, 'Restore both files together; their contents were not checked.');
  }
  if (!existsSync(folder)) {
    const missing = reasonNotUsable(existsSync(dirname(folder)) ? folder : files.catalog);
    if (missing !== null)
      return fail(about, missing, 'Create the folder: only the last folder of the path is created automatically.');
  }
  return warn(about, `${files.catalog} does not exist yet`, EMPTY_ADVICE);
}

function checkRoom(folder: string, { catalog }: SqliteFiles): Finding {
  const free = freeBytes(catalog);
  const bytes = statSync(catalog).size;
  const log = logBytes(catalog);
  const logText = log > SMALL_BYTES ? `, its write-ahead log ${sizeText(log)}` : '';
  const message = `${sizeText(free)} free in ${folder}; the catalog is ${sizeText(bytes)}${logText}`;
  if (free > bytes) return ok('disk', message);
  if (free > SMALL_BYTES)
    return warn(
      'disk',
      message,
      'Free some space: an import or a restore can need as much space as the catalog again.',
    );
  return fail('disk', message, 'Free at least 1 MB now: without it, revoking a key can fail, and imports do.');
}

/**
 * Lets SQLite check the structure of both files, in full also each index against its table. Reads all of them, which
 * takes a second or two per GB if they are in memory.
 */
export function checkFiles(path: string, isFull: boolean): Finding[] {
  const { catalog, access } = sqliteFiles(path);
  const failed = [catalog, access].flatMap((file) => {
    const problem = findDamage(file, isFull ? 'integrity_check' : 'quick_check');
    const advice =
      'Stop the service, and restore both files from a backup. Look for the cause, such as a failing disk.';
    return problem === null ? [] : [fail('files', `${file} is damaged: ${problem}`, advice)];
  });
  if (failed.length > 0) return failed;
  const found = isFull ? 'no damage, and its indexes match its tables' : 'no damage; --full also checks its indexes';
  return [ok('files', `SQLite found ${found}`)];
}

function findDamage(file: string, pragma: 'quick_check' | 'integrity_check'): string | null {
  try {
    using connection = new SqliteConnection(file, { readOnly: true });
    const problems = connection
      .prepare(`pragma ${pragma}(${MAX_PROBLEMS})`)
      .all()
      .map((row) => String(row[pragma]));
    return problems.join() === 'ok' ? null : problems.join('; ').replaceAll(/\*{3} .*? \*{3}\s*|\n/g, '');
  } catch (error) {
    return (error as Error).message;
  }
}

function sizeText(bytes: number): string {
  return bytes < 1e9 ? `${(bytes / 1e6).toFixed(1)} MB` : `${(bytes / 1e9).toFixed(1)} GB`;
}
