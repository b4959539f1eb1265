import { migrate } from '../../database/migrations/migrator.ts';
import { SERVING_SETTINGS } from '../../database/postgres/postgres.ts';
import { OperatorError } from '../../operator-error.ts';
import { hasRoles, makeRoles, type Roles } from '../../roles/roles.ts';
import { vacuum } from '../../database/vacuum.ts';
import { migratingWithProgress, type CommandContext } from '../context.ts';

/** `pds migrate`: brings the schema up to this version. */
export async function migrateDatabase({ database, clock, output }: CommandContext): Promise<undefined> {
  const ran = await migratingWithProgress(output, (options) => migrate(database, clock, options));
  // After migrations that rewrite all rows, the planner lacks statistics and SQLite's WAL is as large as the database.
  if (ran.length > 0) await vacuum(database, Infinity).catch(() => null);
  output.done({ migrations: ran }, ran.length === 0 ? 'The schema is up to date.' : `Ran ${ran.join(', ')}.`);
  if (ran.length > 0 && database.engine === 'postgres' && (await hasRoles(database))) {
    output.note('Other roles use the tables: run "pds roles" again to grant them access to new tables.');
  }
}

/** `pds roles`: creates or updates the PostgreSQL roles for serving and for commands. */
export async function updateRoles(
  { database, clock, output }: CommandContext,
  { reader, writer }: Roles,
): Promise<undefined> {
  if (database.engine === 'sqlite') {
    throw new OperatorError('"pds roles" requires PostgreSQL. On SQLite, set the permissions of the two files instead');
  }
  const created = await makeRoles(database, clock, { reader, writer });
  output.done({ reader, writer, created, reader_settings: SERVING_SETTINGS }, [
    `${reader} can serve, and ${writer} can run commands. Run this again after each "pds migrate".`,
    ...created.map((role) => `${role} is new and has no password: set one in psql with "\\password ${role}".`),
  ]);
}
