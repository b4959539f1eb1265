import { sql } from 'kysely';
import { recordChange } from '../database/audit.ts';
import { inTransaction, type Database } from '../database/database.ts';
import { SERVING_SETTINGS } from '../database/postgres/postgres.ts';
import { OperatorError } from '../operator-error.ts';
import type { Clock } from '../timestamp.ts';
import { allows, READER, readPrivileges, readServer, WRITER, type Privileges } from './privileges.ts';

/** Names of PostgreSQL's roles. */
export interface Roles {
  /** For `pds serve`. */
  readonly reader: string;
  /** For commands. */
  readonly writer: string;
}

const MAINTAIN_FROM_VERSION = 170_000;

const INSUFFICIENT_PRIVILEGE = '42501';

/**
 * Creates the two roles or updates existing ones, in one transaction: exactly the privileges that each needs on the
 * current tables, and on tables that later migrations add to `catalog`. The reader also gets the settings of a serving
 * connection, which PgBouncer does not pass on. Leaves passwords alone.
 *
 * @returns the names of the roles it created; they have no password.
 * @throws OperatorError if the current role lacks the privilege, or if one of the two would have more than it should.
 */
export function makeRoles(database: Database, clock: Clock, roles: Roles): Promise<string[]> {
  const { reader, writer } = roles;
  if (reader === writer) throw new OperatorError('the two roles must be different');
  const both = [
    [reader, READER],
    [writer, WRITER],
  ] as const;
  return inTransaction(database, async (transaction) => {
    const { owner, version, me } = await readServer(transaction);
    if (owner === null) {
      throw new OperatorError(`${me} does not own the tables: run this as their owner, or as a superuser`);
    }
    const created: string[] = [];
    for (const [role, wanted] of both) {
      if (await createIfMissing(transaction, role, me)) created.push(role);
      await grantAll(transaction, role, owner, version, wanted);
      await grantConnect(transaction, role);
    }
    await setForServing(transaction, reader, me);
    for (const [role, wanted] of both) await refuseMore(transaction, role, owner, wanted);
    await recordChange(transaction, clock, { action: 'roles', details: { ...roles, created } });
    return created;
  });
}

/** True if anyone but the owner has privileges: `makeRoles` must run again after a migration. */
export async function hasRoles({ kysely }: Database): Promise<boolean> {
  const { rows } = await sql`select from pg_catalog.pg_namespace, aclexplode(nspacl)
    where nspname = 'access' and grantee <> nspowner limit 1`.execute(kysely);
  return rows.length > 0;
}

async function createIfMissing({ kysely }: Database, role: string, me: string): Promise<boolean> {
  const { rows } = await sql<{ may: boolean }>`
    select rolsuper or rolcreaterole as may from pg_catalog.pg_roles where rolname = current_user
      and not exists (select from pg_catalog.pg_roles where rolname = ${role})`.execute(kysely);
  if (rows[0] === undefined) return false;
  if (!rows[0].may) {
    throw new OperatorError(
      `${me} cannot create roles: have a superuser run "create role ${role} login", and then this again; ` +
        `or run this as a superuser`,
    );
  }
  await sql`create role ${sql.id(role)} login`.execute(kysely);
  return true;
}

async function grantAll(
  { kysely }: Database,
  role: string,
  owner: string,
  version: number,
  wanted: Privileges,
): Promise<void> {
  const id = sql.id(role);
  await sql`grant usage on schema catalog, access to ${id}`.execute(kysely);
  await sql`revoke all on all tables in schema catalog, access from ${id}`.execute(kysely);
  for (const [table, privileges] of Object.entries(wanted)) {
    // PostgreSQL has `maintain` from version 17 on.
    const granted = privileges.filter((each) => each !== 'maintain' || version >= MAINTAIN_FROM_VERSION);
    const list = sql.raw(granted.join(', '));
    if (table === 'catalog.*') {
      await sql`grant ${list} on all tables in schema catalog to ${id}`.execute(kysely);
      await sql`alter default privileges for role ${sql.id(owner)} in schema catalog
        grant ${list} on tables to ${id}`.execute(kysely);
    } else {
      await sql`revoke all on ${sql.table(table)} from ${id}`.execute(kysely);
      await sql`grant ${list} on ${sql.table(table)} to ${id}`.execute(kysely);
    }
  }
}

/** Grants only what the role lacks, since only the database's owner can, and `public` has it by default. */
async function grantConnect({ kysely }: Database, role: string): Promise<void> {
  const { rows } = await sql<{ database: string }>`select current_database() as database
    where not has_database_privilege(${role}, current_database(), 'connect')`.execute(kysely);
  for (const { database } of rows) {
    await sql`grant connect on database ${sql.id(database)} to ${sql.id(role)}`.execute(kysely);
  }
}

/** Sets only missing settings, so that a superuser can make them first if the owner cannot. */
async function setForServing({ kysely }: Database, reader: string, me: string): Promise<void> {
  const settings = Object.entries(SERVING_SETTINGS).map(([name, value]) => `${name}=${value}`);
  const { rows } = await sql<{ database: string; setting: string }>`
    select current_database() as database, setting from unnest(${settings}::text[]) as setting
    where setting not in (select unnest(setconfig) from pg_catalog.pg_db_role_setting
      where setrole = quote_ident(${reader})::regrole
        and setdatabase = (select oid from pg_catalog.pg_database where datname = current_database()))`.execute(kysely);
  const missing = rows.map(({ database, setting }) => {
    const [name = '', value = ''] = setting.split('=');
    return sql`alter role ${sql.id(reader)} in database ${sql.id(database)} set ${sql.raw(name)} = ${sql.lit(value)}`;
  });
  for (const statement of missing) {
    await statement.execute(kysely).catch((error: unknown) => {
      if ((error as { code?: unknown }).code !== INSUFFICIENT_PRIVILEGE) throw error;
      const statements = missing.map((each) => each.compile(kysely).sql).join('; ');
      throw new OperatorError(
        `${me} cannot change settings of ${reader}: have a superuser run "${statements}", and then this again`,
      );
    });
  }
}

/** @throws OperatorError if the role has more privileges than it should, inherited ones included. */
async function refuseMore(database: Database, role: string, owner: string, wanted: Privileges): Promise<void> {
  const { rows: powers } = await sql<{ power: string }>`
    select unnest(array_remove(array[
      case when rolsuper then 'is a superuser' end,
      case when rolcreaterole then 'can create roles' end,
      case when rolreplication then 'can replicate' end,
      case when rolbypassrls then 'bypasses row security' end,
      case when pg_has_role(rolname, ${owner}, 'MEMBER') then 'belongs to the owner of the tables' end,
      case when has_schema_privilege(rolname, 'catalog', 'CREATE')
        or has_schema_privilege(rolname, 'access', 'CREATE') then 'can create tables' end], null)) as power
    from pg_catalog.pg_roles where rolname = ${role}`.execute(database.kysely);
  const { held } = await readPrivileges(database, sql`${role}`);
  const more = held.filter((each) => !allows(wanted, each)).map(({ privilege, table }) => `can ${privilege} ${table}`);
  const excess = [...powers.map(({ power }) => power), ...more];
  if (excess.length === 0) return;
  throw new OperatorError(
    `the role ${role} has more privileges than it should: it ${excess.slice(0, 5).join(', ')}. ` +
      'Choose another name, or revoke that from it, from its roles, and from public. Nothing was changed',
  );
}
