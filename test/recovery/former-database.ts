import { cpSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { listPartners } from '../../src/access/partner-admin.ts';
import type { OpenDatabase } from '../../src/database/database.ts';
import { SMALL_CATALOG } from '../support/publishing.ts';
import { importBefore, runBefore } from '../support/schema/version-before.ts';
import { createSqliteFiles, type SqliteFiles } from '../support/sqlite-files.ts';
import { cityNames } from './backed-up.ts';

/** A database of version 1.3, whose two files an upgrade takes over, with one partner. */
export interface FormerDatabase {
  readonly files: SqliteFiles;
  readonly url: string;
  /** The folder of the database. */
  readonly data: string;
  /** A backup that version 1.3 made. */
  readonly backup: string;
  /** Puts the database back as version 1.3 left it. */
  reset(): void;
}

export async function createFormerDatabase(): Promise<FormerDatabase> {
  const files = createSqliteFiles();
  const data = dirname(files.path);
  const pristine = join(files.folder, 'pristine');
  const backup = join(files.folder, 'backup-of-1.3');
  const url = files.settings['PDS_DATABASE_URL'] ?? '';
  await importBefore(url, SMALL_CATALOG);
  await runBefore(url, 'partner', 'create', 'acme', '--everything');
  await runBefore(url, 'backup', backup);
  cpSync(data, pristine, { recursive: true });
  const reset = (): void => {
    rmSync(data, { recursive: true, force: true });
    cpSync(pristine, data, { recursive: true });
  };
  return { files, url, data, backup, reset };
}

/** The names of the lead entities, and the number of partners that are not suspended. */
export async function look(database: OpenDatabase): Promise<{ names: string[]; active: number }> {
  const partners = await listPartners(database, Date.now);
  const active = partners.filter(({ suspendedAt }) => suspendedAt === null);
  return { names: await cityNames(database), active: active.length };
}
