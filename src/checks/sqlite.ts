import { existsSync } from 'node:fs';
import { basename, dirname, resolve } from 'node:path';
import type { Environment } from '../config.ts';
import { openForServing } from '../database/open.ts';
import { DatabaseUnavailableError, type OpenDatabase } from '../database/database.ts';
import { listNamedFiles } from '../database/event-log.ts';
import { ROOM_SHARE } from '../database/sqlite/catalog-files.ts';
import { catalogPath, largestCatalogBytes, listCatalogFiles } from '../database/sqlite/file-names.ts';
import {
  findDamage,
  reasonNotUsable,
  refuseLoneFiles,
  freeBytes,
  SMALL_BYTES,
} from '../database/sqlite/sqlite-files.ts';
import type { Clock } from '../timestamp.ts';
import { checkContents, EMPTY_ADVICE } from './contents.ts';
import { fail, ok, warn, type Finding } from './finding.ts';

const about = 'database';

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
  // Commands create the last folder of the path together with the file.
  const folder = dirname(resolve(path));
  const problem = existsSync(folder) ? reasonNotUsable(path) : null;
  if (problem !== null) return unreadable(fail(about, problem, UNUSABLE_ADVICE));
  if (!existsSync(path)) return unreadable(checkMissing(path, folder));
  try {
    await using database = openForServing({ engine: 'sqlite', path });
    const { findings: contents, isReadable } = await checkContents(database, environment, clock);
    const access = ok(about, `${path} is readable and writable`);
    const files = await checkCatalogs(database, path, folder);
    return { findings: [access, ...files, ...contents], isUsable: true, isReadable };
  } catch (error) {
    if (!(error instanceof DatabaseUnavailableError)) throw error;
    return unreadable(fail(about, error.message, UNUSABLE_ADVICE));
  }
}

function checkMissing(path: string, folder: string): Finding {
  try {
    refuseLoneFiles(path);
  } catch (error) {
    if (!(error instanceof DatabaseUnavailableError)) throw error;
    return fail(about, error.message, 'Restore a backup; its contents were not checked.');
  }
  if (!existsSync(folder)) {
    const missing = reasonNotUsable(existsSync(dirname(folder)) ? folder : path);
    if (missing !== null)
      return fail(about, missing, 'Create the folder: only the last folder of the path is created automatically.');
  }
  return warn(about, `${path} does not exist yet`, EMPTY_ADVICE);
}

/** Reports the room for the next import, and catalogs that nothing names. */
async function checkCatalogs(database: OpenDatabase, path: string, folder: string): Promise<Finding[]> {
  const { catalogFiles } = database;
  if (catalogFiles === undefined) return [];
  const name = catalogFiles.attachCurrent();
  const findings = [checkRoom(folder, freeBytes(path), largestCatalogBytes(path))];
  // Before the first release nothing is named, and the log may be missing.
  const named = name === null ? new Set<string>() : await listNamedFiles(database);
  const unused = listCatalogFiles(path).filter((file) => !named.has(basename(file)));
  if (unused.length > 0) {
    const advice = 'A running import makes one. The next import deletes what a killed one left.';
    findings.push(warn('files', `no release names ${unused.map((file) => basename(file)).join(', ')}`, advice));
  }
  return findings;
}

function checkRoom(folder: string, free: number, bytes: number): Finding {
  const message = `${sizeText(free)} free in ${folder}; the catalog is ${sizeText(bytes)}`;
  if (free > ROOM_SHARE * bytes + SMALL_BYTES) return ok('disk', message);
  if (free > SMALL_BYTES) {
    return warn('disk', message, 'Free some space: the next import copies the catalog, and the copy can grow.');
  }
  return fail('disk', message, 'Free at least 1 MB now: without it, revoking a key can fail, and imports do.');
}

/**
 * Lets SQLite check the structure of the file and of the current catalog, in full also each index against its table.
 * Reads all of them, which takes a second or two per GB if they are in memory.
 */
export async function checkFiles(path: string, isFull: boolean): Promise<Finding[]> {
  const failed = (await listUsedFiles(path)).flatMap((file) => {
    const problem = findDamage(file, isFull ? 'integrity_check' : 'quick_check');
    const advice = 'Stop the service, and restore a backup. Look for the cause, such as a failing disk.';
    return problem === null ? [] : [fail('files', `${file} is damaged: ${problem}`, advice)];
  });
  if (failed.length > 0) return failed;
  const found = isFull ? 'no damage, and its indexes match its tables' : 'no damage; --full also checks its indexes';
  return [ok('files', `SQLite found ${found}`)];
}

async function listUsedFiles(path: string): Promise<string[]> {
  try {
    await using database = openForServing({ engine: 'sqlite', path });
    const name = database.catalogFiles?.attachCurrent() ?? null;
    return name === null ? [path] : [path, catalogPath(path, name)];
  } catch {
    return [path];
  }
}

function sizeText(bytes: number): string {
  return bytes < 1e9 ? `${(bytes / 1e6).toFixed(1)} MB` : `${(bytes / 1e9).toFixed(1)} GB`;
}
