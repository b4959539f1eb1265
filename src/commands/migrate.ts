import { migrate } from '../database/migrator.ts';
import type { CommandContext } from './context.ts';

/** `pds migrate`: brings the schema up to this version. */
export async function migrateDatabase({ database, clock, output }: CommandContext): Promise<undefined> {
  const ran = await migrate(database, clock);
  output.done({ migrations: ran }, ran.length === 0 ? 'The schema is up to date.' : `Ran ${ran.join(', ')}.`);
}
