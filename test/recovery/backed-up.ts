import { join } from 'node:path';
import { grant } from '../../src/access/grant-admin.ts';
import { createPartner, listPartners } from '../../src/access/partner-admin.ts';
import type { OpenDatabase } from '../../src/database/database.ts';
import { backup } from '../../src/recovery/backup.ts';
import { runPds, type Outcome } from '../commands/run-pds.ts';
import { publishLines, SMALL_CATALOG } from '../support/publishing.ts';
import { createSqliteFiles, type SqliteFiles } from '../support/sqlite-files.ts';

/** A SQLite database with two partners, `acme` and `bolt`, and a folder for its backup. */
export interface BackedUp extends SqliteFiles {
  /** The backup's folder. */
  readonly target: string;
  readonly backUp: () => Promise<unknown>;
  /** `pds restore --yes --json`. */
  readonly restore: (...options: string[]) => Promise<Outcome>;
}

export async function createBackedUp(): Promise<BackedUp> {
  const files = createSqliteFiles();
  const target = join(files.folder, 'backup');
  await files.use(async (database) => {
    await publishLines(database, SMALL_CATALOG);
    await createPartner(database, Date.now, 'acme', { everything: true });
    await createPartner(database, Date.now, 'bolt', { everything: false });
    await grant(database, Date.now, 'bolt', { everything: false, leadEntities: ['le_a', 'le_b'], coops: ['co_x'] });
  });
  return {
    ...files,
    target,
    backUp: () => backup(files.path, target, { clock: Date.now }),
    restore: (...options) => runPds(['restore', target, '--yes', '--json', ...options], files.settings),
  };
}

/** The names of the lead entities, which distinguish the states of the catalog. */
export async function cityNames({ kysely }: OpenDatabase): Promise<string[]> {
  const rows = await kysely.selectFrom('catalog.lead_entities').select('name').orderBy('id').execute();
  return rows.map(({ name }) => name);
}

/** The number of partners that are not suspended. */
export async function activePartners(database: OpenDatabase): Promise<number> {
  return (await listPartners(database, Date.now)).filter(({ suspendedAt }) => suspendedAt === null).length;
}

/** Imports a new name for the first lead entity; returns the timestamp of the release. */
export async function renameCity(database: OpenDatabase, name: string): Promise<string> {
  const { timestamp } = await publishLines(database, { 'lead-entities': [{ id: 'le_a', name }] });
  return timestamp ?? '';
}

/** The actions in the audit trail. */
export async function actions({ kysely }: OpenDatabase): Promise<string[]> {
  const rows = await kysely.selectFrom('access.audit').select('action').orderBy('id').execute();
  return rows.map(({ action }) => action);
}
