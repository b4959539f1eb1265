import { migrate, readDeferred } from '../database/migrator.ts';
import { hasRoles } from '../database/roles.ts';
import { tidyUp } from '../publishing/announce.ts';
import type { CommandContext } from './context.ts';
import { migratingWithProgress } from './migrating.ts';

export interface MigrateCommandOptions {
  /** Also runs migrations that servers of the previous version cannot work with. */
  readonly finish: boolean;
}

/** `pds migrate`: brings the schema up to this version. */
export async function migrateDatabase(
  { database, clock, output }: CommandContext,
  { finish }: MigrateCommandOptions,
): Promise<undefined> {
  const ran = await migratingWithProgress(output, (options) => migrate(database, clock, { ...options, finish }));
  // After migrations that rewrite all rows, the planner lacks statistics and SQLite's WAL is as large as the database.
  if (ran.length > 0) await tidyUp(database, Infinity).catch(() => null);
  const deferred = await readDeferred(database);
  const sentence = ran.length === 0 ? 'The schema is up to date.' : `Ran ${ran.join(', ')}.`;
  output.done({ migrations: ran, deferred }, [sentence, ...deferred.map(describeDeferred)]);
  if (ran.length > 0 && database.engine === 'postgres' && (await hasRoles(database))) {
    output.note('Other roles use the tables: run "pds roles" again, so that they can use what is new.');
  }
}

function describeDeferred(migration: string): string {
  return `Deferred: ${migration}. Replace all servers, then run "pds migrate --finish".`;
}
