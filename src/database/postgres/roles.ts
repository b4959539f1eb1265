import { readFile } from 'node:fs/promises';
import { sql } from 'kysely';
import pg from 'pg';
import { writeAuditEntry } from '../audit.ts';
import { inTransaction, type Database } from '../database.ts';
import { SERVING_SETTINGS } from './postgres.ts';
import { OperatorError } from '../../operator-error.ts';
import type { Clock } from '../../timestamp.ts';

export interface Roles {
  /** For `pds serve`. */
  readonly reader: string;
  /** For commands. */
  readonly writer: string;
}

const SCRIPT = new URL('roles.sql', import.meta.url);

const INSUFFICIENT_PRIVILEGE = '42501';

/**
 * Creates or updates both roles in one transaction, with exactly the privileges that each needs (`roles.sql`), and the
 * reader with the settings of a serving connection. Passwords stay as they are.
 *
 * @returns the names of the roles it created; they have no password.
 * @throws OperatorError on SQLite; pg.DatabaseError if the current role lacks privileges, or one of the two has too many.
 */
export async function makeRoles(database: Database, clock: Clock, roles: Roles): Promise<string[]> {
  const { reader, writer } = roles;
  if (database.engine === 'sqlite') {
    throw new OperatorError('"pds roles" requires PostgreSQL. On SQLite, set the permissions of its files instead');
  }
  if (reader === writer) throw new OperatorError('the two roles must be different');
  const script = await readFile(SCRIPT, 'utf8');
  const statements = script.replace(/:'(reader|writer)'/g, (_, name: keyof Roles) => pg.escapeLiteral(roles[name]));
  return inTransaction(database, async (transaction) => {
    const { kysely } = transaction;
    const { rows: existing } = await sql<{ rolname: string }>`
      select rolname from pg_catalog.pg_roles where rolname in (${reader}, ${writer})`.execute(kysely);
    await sql.raw(statements).execute(kysely);
    await setForServing(transaction, reader);
    const created = [reader, writer].filter((role) => !existing.some(({ rolname }) => rolname === role));
    await writeAuditEntry(transaction, clock, { action: 'roles', details: { ...roles, created } });
    return created;
  });
}

/** True if anyone but the owner has privileges: `makeRoles` must run again after a migration. Null on SQLite. */
export async function hasRoles({ engine, kysely }: Database): Promise<boolean | null> {
  if (engine === 'sqlite') return null;
  const { rows } = await sql`select from pg_catalog.pg_namespace, aclexplode(nspacl)
    where nspname = 'access' and grantee <> nspowner limit 1`.execute(kysely);
  return rows.length > 0;
}

/** Sets only missing settings, so that a superuser can make them first if the owner cannot. */
async function setForServing({ kysely }: Database, reader: string): Promise<void> {
  const settings = Object.entries(SERVING_SETTINGS).map(([name, value]) => `${name}=${value}`);
  const { rows } = await sql<{ me: string; statement: string }>`
    select current_user::text as me, format('alter role %I in database %I set %s = %L', ${reader}::text,
      current_database(), split_part(setting, '=', 1), split_part(setting, '=', 2)) as statement
    from unnest(${settings}::text[]) as setting
    where setting not in (select unnest(setconfig) from pg_catalog.pg_db_role_setting
      where setrole = quote_ident(${reader})::regrole
        and setdatabase = (select oid from pg_catalog.pg_database where datname = current_database()))`.execute(kysely);
  const statements = rows.map(({ statement }) => statement).join('; ');
  await sql
    .raw(statements)
    .execute(kysely)
    .catch((error: unknown) => {
      if (!(error instanceof pg.DatabaseError) || error.code !== INSUFFICIENT_PRIVILEGE) throw error;
      throw new OperatorError(
        `${rows[0]?.me} cannot change settings of ${reader}: have a superuser run "${statements}", and then this again`,
      );
    });
}
