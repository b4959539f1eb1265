import { sql } from 'kysely';
import type { Database } from '../database/database.ts';

/** A privilege on a table, which is named with its schema. */
export interface TablePrivilege {
  readonly table: string;
  readonly privilege: string;
}

/** The current role's privileges on the existing tables, as far as they decide what it can run. */
interface Abilities {
  readonly me: string;
  readonly hasTables: boolean;
  /** Whether it can create schemas, as the first migration does. */
  readonly mayCreate: boolean;
  readonly isOwner: boolean;
  readonly lacksToServe: readonly TablePrivilege[];
  readonly lacksForCommands: readonly TablePrivilege[];
}

/**
 * Reads the abilities of the current role, and needs none for that. Serving reads all but the audit trail, and writes
 * usage; commands insert into nearly every table. `roles.sql` has each privilege.
 */
export async function readAbilities({ kysely }: Database): Promise<Abilities> {
  const { rows: roles } = await sql<Pick<Abilities, 'me' | 'mayCreate' | 'isOwner'>>`
    select current_user::text as me, has_database_privilege(current_database(), 'create') as "mayCreate",
      exists (select from pg_catalog.pg_namespace
        where nspname = 'access' and pg_has_role(nspowner, 'usage')) as "isOwner"`.execute(kysely);
  const { rows } = await sql<TablePrivilege & { isHeld: boolean; toServe: boolean; forCommands: boolean }>`
    select place as table, privilege,
      has_schema_privilege(relnamespace, 'usage') and has_table_privilege(pg_class.oid, privilege) as "isHeld",
      privilege = 'select' and place <> 'access.audit' or place = 'access.usage' as "toServe",
      privilege = 'select' or place not in ('access.usage', 'access.clock', 'access.settings', 'access.migrations',
        'catalog.migrations') as "forCommands"
    from pg_catalog.pg_class
    join pg_catalog.pg_namespace on pg_namespace.oid = relnamespace and nspname in ('catalog', 'access')
    cross join unnest(array['select', 'insert']) as privilege
    cross join lateral (select nspname || '.' || relname) as named (place)
    where relkind in ('r', 'p', 'v', 'm')
    order by place, privilege`.execute(kysely);
  const [role] = roles;
  if (role === undefined) throw new Error('a query without a table returned no row');
  const lacked = rows.filter(({ isHeld }) => !isHeld);
  return {
    ...role,
    hasTables: rows.length > 0,
    lacksToServe: lacked.filter(({ toServe }) => toServe),
    lacksForCommands: lacked.filter(({ forCommands }) => forCommands),
  };
}
