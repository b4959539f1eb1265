import { makeRoles, RolesError, type Roles } from '../database/roles.ts';
import { SERVING_SETTINGS } from '../database/postgres.ts';
import { CommandError } from './command-error.ts';
import type { CommandContext } from './context.ts';

/** `pds roles`: creates or updates the PostgreSQL roles for serving and for commands. */
export async function updateRoles({ database, clock, output }: CommandContext, roles: Roles): Promise<undefined> {
  if (database.engine === 'sqlite') {
    throw new CommandError(
      "roles are PostgreSQL's: on SQLite, the permissions of the two files say who may read and write them",
    );
  }
  const created = await makeRoles(database, clock, roles).catch((error: unknown) => {
    throw error instanceof RolesError ? new CommandError(error.message, { cause: error }) : error;
  });
  const { reader, writer } = roles;
  output.done({ reader, writer, created, reader_settings: SERVING_SETTINGS }, [
    `${reader} may serve and ${writer} may run commands. Run this again after each "pds migrate".`,
    ...created.map((role) => `${role} is new and has no password: give it one in psql with "\\password ${role}".`),
  ]);
}
