import { sql, type RawBuilder } from 'kysely';
import type { Database } from '../database/database.ts';

export type Privilege = 'select' | 'insert' | 'update' | 'delete' | 'truncate' | 'maintain';

/** A role's privileges by table. `catalog.*` is for all tables of the catalog that are not listed, later ones included. */
export type Privileges = Readonly<Record<string, readonly Privilege[]>>;

/** For `pds serve`: reads what it serves, and writes only usage. */
export const READER: Privileges = {
  'catalog.*': ['select'],
  'access.migrations': ['select'],
  // Contains the secret that signs cursors.
  'access.settings': ['select'],
  'access.clock': ['select'],
  'access.partners': ['select'],
  'access.grants': ['select'],
  'access.grant_changes': ['select'],
  'access.keys': ['select'],
  'access.usage': ['select', 'insert', 'update', 'delete'],
};

/** For commands: imports, partners, grants and keys. */
export const WRITER: Privileges = {
  // `maintain` is for vacuum and analyze.
  'catalog.*': ['select', 'insert', 'update', 'delete', 'maintain'],
  'catalog.migrations': ['select', 'maintain'],
  'access.migrations': ['select'],
  'access.settings': ['select'],
  'access.clock': ['select', 'update'],
  'access.partners': ['select', 'insert', 'update'],
  'access.grants': ['select', 'insert', 'delete'],
  'access.grant_changes': ['select', 'insert'],
  'access.keys': ['select', 'insert', 'update'],
  'access.usage': ['select'],
  'access.audit': ['select', 'insert', 'delete'],
};

/** The current role's privileges on the existing tables. */
interface Abilities {
  readonly me: string;
  readonly hasTables: boolean;
  /** Whether it can create schemas, as the first migration does. */
  readonly mayCreate: boolean;
  readonly isOwner: boolean;
  readonly lacksToServe: readonly TablePrivilege[];
  readonly lacksForCommands: readonly TablePrivilege[];
}

/** A privilege on a table, which is named with its schema. */
interface TablePrivilege {
  readonly table: string;
  readonly privilege: Privilege;
}

/** Reads the current role's privileges. Needs no privilege on any table. */
export async function readAbilities(database: Database): Promise<Abilities> {
  const { owner, me, mayCreate } = await readServer(database);
  const { held, lacked } = await readPrivileges(database, sql`current_user`);
  const lacksOf = (wanted: Privileges): TablePrivilege[] => lacked.filter((each) => allows(wanted, each));
  return {
    ...{ me, mayCreate, isOwner: owner !== null, hasTables: held.length + lacked.length > 0 },
    ...{ lacksToServe: lacksOf(READER), lacksForCommands: lacksOf(WRITER) },
  };
}

interface Server {
  /** The owner of the tables, if the current role has its rights. */
  readonly owner: string | null;
  readonly me: string;
  readonly mayCreate: boolean;
  /** Such as 170_002. */
  readonly version: number;
}

/** Reads the server's version, and the rights of the current role. */
export async function readServer({ kysely }: Database): Promise<Server> {
  const { rows } = await sql<Server>`
    select min(pg_get_userbyid(nspowner)) filter (where pg_has_role(nspowner, 'USAGE')) as owner,
      current_user::text as me, has_database_privilege(current_database(), 'CREATE') as "mayCreate",
      current_setting('server_version_num')::int as version
    from pg_catalog.pg_namespace where nspname = 'access'`.execute(kysely);
  const [server] = rows;
  if (server === undefined) throw new Error('an aggregate without groups returned no row');
  return server;
}

/** Whether a role should have a privilege. */
export function allows(wanted: Privileges, { table, privilege }: TablePrivilege): boolean {
  return (wanted[table] ?? wanted[table.replace(/\..*/, '.*')] ?? []).includes(privilege);
}

/** A role's privileges on every table, including those that it inherits or that are granted to `public`. */
export async function readPrivileges(
  { kysely }: Database,
  role: RawBuilder<unknown>,
): Promise<{ held: TablePrivilege[]; lacked: TablePrivilege[] }> {
  const { rows } = await sql<TablePrivilege & { held: boolean }>`
    select nspname || '.' || relname as table, privilege,
      has_schema_privilege(${role}, pg_namespace.oid, 'usage')
        and has_table_privilege(${role}, pg_class.oid, privilege) as held
    from pg_catalog.pg_class
    join pg_catalog.pg_namespace on pg_namespace.oid = relnamespace and nspname in ('catalog', 'access')
    cross join unnest(array['select', 'insert', 'update', 'delete', 'truncate']) as privilege
    where relkind in ('r', 'p', 'v', 'm')
    order by nspname, relname, privilege`.execute(kysely);
  return { held: rows.filter(({ held }) => held), lacked: rows.filter(({ held }) => !held) };
}
