import { migrate } from '../database/migrator.ts';
import { hasRoles } from '../database/roles.ts';
import type { CommandContext } from './context.ts';

/** `pds migrate`: brings the schema up to this version. */
export async function migrateDatabase({ database, clock, output }: CommandContext): Promise<undefined> {
  const ran = await migrate(database, clock);
  output.done({ migrations: ran }, ran.length === 0 ? 'The schema is up to date.' : `Ran ${ran.join(', ')}.`);
  if (ran.length > 0 && database.engine === 'postgres' && (await hasRoles(database))) {
    output.note('Other roles use the tables: run "pds roles" again, so that they can use what is new.');
  }
}
