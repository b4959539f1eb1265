import { sql, type RawBuilder } from 'kysely';
import type { Clock } from '../timestamp.ts';
import { recordChange } from './audit.ts';
import { inTransaction, type Database } from './database.ts';
import type { TableGroup } from './migration.ts';
import { SERVING_SETTINGS } from './postgres.ts';

/** Names of PostgreSQL's roles. */
export interface Roles {
  /** For `pds serve`: reads the tables that it serves, and writes only usage. */
  readonly reader: string;
  /** For commands: imports, partners, grants and keys. */
  readonly writer: string;
}

/** The roles cannot be created. The message says what to do. */
export class RolesError extends Error {
  override name = 'RolesError';
}

export type Privilege = 'select' | 'insert' | 'update' | 'delete' | 'truncate' | 'maintain';

/** A role's privileges on a group's tables, and the exceptions by table. Tables absent from `access` get none. */
type Grants = Readonly<Record<TableGroup, { all: readonly Privilege[]; but: Readonly<Record<string, Privilege[]>> }>>;

const READER: Grants = {
  catalog: { all: ['select'], but: {} },
  access: {
    all: [],
    but: {
      migrations: ['select'],
      // Contains the secret that signs cursors.
      settings: ['select'],
      clock: ['select'],
      partners: ['select'],
      grants: ['select'],
      grant_changes: ['select'],
      keys: ['select'],
      usage: ['select', 'insert', 'update', 'delete'],
    },
  },
};

const WRITER: Grants = {
  // `maintain` (vacuum, analyze) can be granted from PostgreSQL 17 on.
  catalog: { all: ['select', 'insert', 'update', 'delete', 'maintain'], but: { migrations: ['select', 'maintain'] } },
  access: {
    all: [],
    but: {
      migrations: ['select'],
      settings: ['select'],
      clock: ['select', 'update'],
      partners: ['select', 'insert', 'update'],
      grants: ['select', 'insert', 'delete'],
      grant_changes: ['select', 'insert'],
      keys: ['select', 'insert', 'update'],
      usage: ['select'],
      audit: ['select', 'insert', 'delete'],
    },
  },
};

const GROUPS = ['catalog', 'access'] as const;

const MAINTAIN_FROM_VERSION = 170_000;

const INSUFFICIENT_PRIVILEGE = '42501';

/**
 * Creates the two roles or updates existing ones, in one transaction: exactly the privileges that each needs on the
 * current tables, and on tables that later migrations add to `catalog`. The reader also gets the settings of a serving
 * connection, which PgBouncer does not pass on. Leaves passwords alone.
 *
 * @returns the names of the roles it created; they have no password.
 * @throws RolesError if the current role lacks the privilege, or if one of the two would have more than it should.
 */
export function makeRoles(database: Database, clock: Clock, roles: Roles): Promise<string[]> {
  const { reader, writer } = roles;
  if (reader === writer) throw new RolesError('the two roles have to be different ones');
  const both = [
    [reader, READER],
    [writer, WRITER],
  ] as const;
  return inTransaction(database, async (transaction) => {
    const { owner, version, me } = await readServer(transaction);
    if (owner === null) {
      throw new RolesError(`${me} does not own the tables: run this as their owner, or as a superuser`);
    }
    const created: string[] = [];
    for (const [role, grants] of both) {
      if (await createIfMissing(transaction, role, me)) created.push(role);
      await grantAll(transaction, role, owner, version, grants);
    }
    await setForServing(transaction, reader, me);
    for (const [role, grants] of both) {
      await refuseMore(transaction, role, owner, grants);
    }
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

async function readServer({ kysely }: Database): Promise<{ owner: string | null; version: number; me: string }> {
  const { rows } = await sql<{ owner: string | null; version: number; me: string }>`
    select min(pg_get_userbyid(nspowner)) filter (where pg_has_role(nspowner, 'USAGE')) as owner,
      current_setting('server_version_num')::int as version, current_user::text as me
    from pg_catalog.pg_namespace where nspname = 'access'`.execute(kysely);
  return rows[0] ?? { owner: null, version: 0, me: '' };
}

async function createIfMissing({ kysely }: Database, role: string, me: string): Promise<boolean> {
  const { rows } = await sql<{ may: boolean }>`
    select rolsuper or rolcreaterole as may from pg_catalog.pg_roles where rolname = current_user
      and not exists (select from pg_catalog.pg_roles where rolname = ${role})`.execute(kysely);
  if (rows[0] === undefined) return false;
  if (!rows[0].may) {
    throw new RolesError(
      `${me} may not create roles: let a superuser run "create role ${role} login", and then this again; ` +
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
  grants: Grants,
): Promise<void> {
  const to = sql.id(role);
  const run = async (statement: string): Promise<unknown> => sql`${sql.raw(statement)} ${to}`.execute(kysely);
  const listed = (privileges: readonly Privilege[]): string =>
    privileges.filter((privilege) => privilege !== 'maintain' || version >= MAINTAIN_FROM_VERSION).join(', ');
  const { rows } = await sql<{ name: string; connects: boolean; temporary: boolean }>`
    select quote_ident(current_database()) as name,
      has_database_privilege(${role}, current_database(), 'CONNECT') as connects,
      has_database_privilege(${role}, current_database(), 'TEMPORARY') as temporary`.execute(kysely);
  const [database] = rows;
  if (database?.connects === false) await run(`grant connect on database ${database.name} to`);
  // An import that renumbers rows collects them in a temporary table.
  if (database?.temporary === false && grants === WRITER) {
    await run(`grant temporary on database ${database.name} to`);
  }
  for (const group of GROUPS) {
    const { all, but } = grants[group];
    await run(`grant usage on schema ${group} to`);
    await run(`revoke all on all tables in schema ${group} from`);
    if (all.length > 0) {
      await run(`grant ${listed(all)} on all tables in schema ${group} to`);
      const later = sql.raw(`in schema ${group} grant ${listed(all)} on tables to`);
      await sql`alter default privileges for role ${sql.id(owner)} ${later} ${to}`.execute(kysely);
    }
    for (const [table, privileges] of Object.entries(but)) {
      await run(`revoke all on ${group}.${table} from`);
      await run(`grant ${listed(privileges)} on ${group}.${table} to`);
    }
  }
}

/** Sets only missing settings, so that a superuser can make them first if the owner cannot. */
async function setForServing({ kysely }: Database, reader: string, me: string): Promise<void> {
  const { rows } = await sql<{ name: string; present: string[] | null }>`select current_database() as name,
    (select setconfig from pg_catalog.pg_db_role_setting
      where setrole = quote_ident(${reader})::regrole and setdatabase = pg_database.oid) as present
    from pg_catalog.pg_database where datname = current_database()`.execute(kysely);
  const { name = '', present = null } = rows[0] ?? {};
  const missing = Object.entries(SERVING_SETTINGS)
    .filter(([setting, value]) => present?.includes(`${setting}=${value}`) !== true)
    .map(
      ([setting, value]) =>
        sql`alter role ${sql.id(reader)} in database ${sql.id(name)} set ${sql.raw(setting)} = ${sql.lit(value)}`,
    );
  for (const statement of missing) {
    await statement.execute(kysely).catch((error: unknown) => {
      if ((error as { code?: unknown }).code !== INSUFFICIENT_PRIVILEGE) throw error;
      const statements = missing.map((each) => each.compile(kysely).sql).join('; ');
      throw new RolesError(
        `${me} may not set anything for ${reader}: let a superuser run "${statements}", and then this again`,
      );
    });
  }
}

/**
 * Also counts privileges that the role inherits or that are granted to `public`.
 *
 * @throws RolesError if the role has more privileges than it should.
 */
async function refuseMore(database: Database, role: string, owner: string, grants: Grants): Promise<void> {
  const { rows: powers } = await sql<{ power: string }>`
    select unnest(array_remove(array[
      case when rolsuper then 'is a superuser' end,
      case when rolcreaterole then 'may create roles' end,
      case when rolreplication then 'may replicate' end,
      case when rolbypassrls then 'bypasses row security' end,
      case when pg_has_role(rolname, ${owner}, 'MEMBER') then 'belongs to the owner of the tables' end,
      case when has_schema_privilege(rolname, 'catalog', 'CREATE')
        or has_schema_privilege(rolname, 'access', 'CREATE') then 'may create tables' end], null)) as power
    from pg_catalog.pg_roles where rolname = ${role}`.execute(database.kysely);
  const more = (await readPrivileges(database, sql`${role}`))
    .filter(({ group, table, privilege, held }) => held && !allows(grants, group, table, privilege))
    .map(({ group, table, privilege }) => `may ${privilege} ${group}.${table}`);
  const found = [...powers.map(({ power }) => power), ...more];
  if (found.length > 0) {
    throw new RolesError(
      `the role ${role} could do more than it should: it ${found.slice(0, 5).join(', ')}. ` +
        'Choose another name, or take that from it, from the roles that it belongs to, and from public. Nothing was changed',
    );
  }
}

/** The current role's privileges on the existing tables. */
export interface Abilities {
  readonly me: string;
  readonly hasTables: boolean;
  /** Whether it can create schemas, as the first migration does. */
  readonly mayCreate: boolean;
  readonly isOwner: boolean;
  readonly lacksToServe: readonly Lack[];
  readonly lacksForCommands: readonly Lack[];
}

interface Lack {
  readonly privilege: Privilege;
  /** With its schema. */
  readonly table: string;
}

/** Reads the current role's privileges. Needs no privilege on any table. */
export async function readAbilities(database: Database): Promise<Abilities> {
  const { owner, me } = await readServer(database);
  const privileges = await readPrivileges(database, sql`current_user`);
  const { rows } = await sql<{ may: boolean }>`
    select has_database_privilege(current_database(), 'CREATE') as may`.execute(database.kysely);
  const lacksOf = (grants: Grants): Lack[] =>
    privileges
      .filter(({ group, table, privilege, held }) => !held && allows(grants, group, table, privilege))
      .map(({ group, table, privilege }) => ({ privilege, table: `${group}.${table}` }));
  return {
    ...{ me, hasTables: privileges.length > 0, mayCreate: rows[0]?.may === true, isOwner: owner !== null },
    ...{ lacksToServe: lacksOf(READER), lacksForCommands: lacksOf(WRITER) },
  };
}

function allows(grants: Grants, group: TableGroup, table: string, privilege: Privilege): boolean {
  const { all, but } = grants[group];
  return (but[table] ?? all).includes(privilege);
}

interface TablePrivilege {
  group: TableGroup;
  table: string;
  privilege: Privilege;
  held: boolean;
}

/** Every privilege on every table, whether a role holds it or not. */
async function readPrivileges({ kysely }: Database, role: RawBuilder<unknown>): Promise<TablePrivilege[]> {
  const { rows } = await sql<TablePrivilege>`
    select nspname as group, relname as table, privilege,
      has_schema_privilege(${role}, pg_namespace.oid, 'usage')
        and has_table_privilege(${role}, pg_class.oid, privilege) as held
    from pg_catalog.pg_class
    join pg_catalog.pg_namespace on pg_namespace.oid = relnamespace and nspname in ('catalog', 'access')
    cross join unnest(array['select', 'insert', 'update', 'delete', 'truncate']) as privilege
    where relkind in ('r', 'p', 'v', 'm')
    order by nspname, relname, privilege`.execute(kysely);
  return rows;
}
