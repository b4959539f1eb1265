import { sql } from 'kysely';
import type { OpenDatabase, Database } from '../database/database.ts';
import { openForServing } from '../database/open.ts';
import { firstRow } from '../database/statement.ts';
import { isTlsError, reasonOf, TOO_MANY_CONNECTIONS } from '../database/postgres/postgres-errors.ts';
import { fail, type Finding } from './finding.ts';

/** A busy server can take longer to accept a connection than the second that a request waits. */
const ATTEMPTS = 3;

/** Requests wait for several statements. So do the other checks, which would not end in time. */
const SLOW_MS = 400;

/** Connects to a PostgreSQL server as the service does. Returns the findings of `look`, or why there is no connection. */
export async function onPostgres(
  { about, url, setting }: { about: string; url: string; setting: string },
  look: (database: OpenDatabase) => Promise<Finding[]>,
): Promise<Finding[]> {
  const database = openForServing({ engine: 'postgres', url });
  try {
    try {
      await connect(database);
    } catch (error) {
      const reason = reasonOf(error);
      return [fail(about, `connection failed: ${reason}`, adviceOf(error, reason, setting))];
    }
    const startedAtMs = performance.now();
    await sql`select 1`.execute(database.kysely);
    const tookMs = Math.round(performance.now() - startedAtMs);
    if (tookMs < SLOW_MS) return await look(database);
    const advice = 'Look at the load of its machine, at long statements in pg_stat_activity, and at the network.';
    return [fail(about, `"select 1" takes ${tookMs} ms; the other checks were skipped`, advice)];
  } finally {
    // Not awaited: a hanging server never acknowledges the close.
    void database.close().catch(() => undefined);
  }
}

async function connect({ kysely }: OpenDatabase): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      await sql`select 1`.execute(kysely);
      return;
    } catch (error) {
      if (attempt === ATTEMPTS || !/timeout/i.test(String(error))) throw error;
    }
  }
}

/** The codes are from https://www.postgresql.org/docs/current/errcodes-appendix.html */
function adviceOf(error: unknown, reason: string, setting: string): string {
  if (error instanceof Error && isTlsError(error)) {
    return (
      `The server must present a certificate for the host in ${setting}, signed by an authority in the file that ` +
      'sslrootcert names.'
    );
  }
  const { code } = (error ?? {}) as { code?: unknown };
  if (code === '28P01' || code === '28000')
    return `Correct the role and password in ${setting}, or allow the role in pg_hba.conf.`;
  if (code === '3D000') return `Create the database with "createdb", or correct its name in ${setting}.`;
  if (code === '42501') return 'Grant the role CONNECT on the database, as "pds roles" does.';
  if (code === TOO_MANY_CONNECTIONS) return 'Raise "max_connections", or connect through PgBouncer.';
  if (reason.includes('unsupported startup parameter')) return `Add ?pgbouncer=true to the URL in ${setting}.`;
  return `Check that the server is running, the host and port in ${setting}, and firewalls on the way.`;
}

/** A privilege on a table, which is named with its schema. */
export interface TablePrivilege {
  readonly table: string;
  readonly privilege: string;
}

/**
 * Reads the abilities of the current role, without needing any privilege. `roles.sql` has those of each role.
 * `mayCreate`: whether it can create schemas, as the first migration does.
 */
export async function readAbilities({ kysely }: Database) {
  const { rows: roles } = await sql<{ me: string; mayCreate: boolean; isOwner: boolean }>`
    select current_user::text as me, has_database_privilege(current_database(), 'create') as "mayCreate",
      exists (select from pg_catalog.pg_namespace
        where nspname = 'access' and pg_has_role(nspowner, 'usage')) as "isOwner"`.execute(kysely);
  const { rows } = await sql<TablePrivilege & { isHeld: boolean; toServe: boolean; forCommands: boolean }>`
    select place as table, privilege,
      has_schema_privilege(relnamespace, 'usage') and has_table_privilege(pg_class.oid, privilege) as "isHeld",
      privilege = 'select' and place <> 'access.audit' or place in ('access.usage', 'access.settings') as "toServe",
      privilege = 'select' or place not in ('access.usage', 'access.migrations', 'catalog.migrations') as "forCommands"
    from pg_catalog.pg_class
    join pg_catalog.pg_namespace on pg_namespace.oid = relnamespace and nspname in ('catalog', 'access')
    cross join unnest(array['select', 'insert']) as privilege
    cross join lateral (select nspname || '.' || relname) as named (place)
    where relkind in ('r', 'p', 'v', 'm')
    order by place, privilege`.execute(kysely);
  const lacked = rows.filter(({ isHeld }) => !isHeld);
  return {
    ...firstRow(roles),
    hasTables: rows.length > 0,
    lacksToServe: lacked.filter(({ toServe }) => toServe),
    lacksForCommands: lacked.filter(({ forCommands }) => forCommands),
  };
}
