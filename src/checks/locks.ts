import { setTimeout as delay } from 'node:timers/promises';
import { sql } from 'kysely';
import { inTransaction, type Database } from '../database/database.ts';
import { LOCK_TIMEOUT } from '../database/postgres/postgres-errors.ts';
import { readValue } from '../database/statement.ts';
import { printable } from '../printable.ts';
import { fail, type Finding } from './finding.ts';

const about = 'locks';

/** A migration locks a table for less. */
const WAIT_MS = 2_000;

/** Blocking sessions are read this long into the wait. */
const LOOK_AFTER_MS = 1_000;

const MAX_QUERY_LENGTH = 200;

/** A session that holds a lock. PostgreSQL shows the last three only to its role and to `pg_read_all_stats`. */
interface Blocker {
  readonly pid: number;
  readonly role: string;
  readonly application: string;
  readonly state: string | null;
  readonly since: string | null;
  readonly query: string | null;
}

/**
 * Locks every table as a read would, to find locks of other sessions before statements time out on them. Takes up to two
 * seconds then. Returns a finding for each session that blocks.
 */
export async function findBlockers(database: Database): Promise<Finding[]> {
  const tables = await listReadableTables(database);
  if (tables.length === 0) return [];
  let blockers: Finding[] = [];
  try {
    await inTransaction(database, async (transaction) => {
      const { kysely } = transaction;
      const pid = await readValue<number>(transaction, sql`select pg_backend_pid() as value`);
      await sql`set local lock_timeout = ${sql.lit(WAIT_MS)}`.execute(kysely);
      const names = sql.join(tables.map((table) => sql.table(table)));
      const locking = sql`lock table ${names} in access share mode`.execute(kysely).then(() => true);
      // Awaited below, but reading those that block can fail first.
      locking.catch(() => undefined);
      const isLocked = await Promise.race([locking, delay(LOOK_AFTER_MS, false, { ref: false })]);
      if (!isLocked) blockers = await describeBlockers(database, pid);
      await locking;
    });
    return [];
  } catch (error) {
    if ((error as { code?: unknown }).code !== LOCK_TIMEOUT) throw error;
    return blockers;
  }
}

async function listReadableTables({ kysely }: Database): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`select nspname || '.' || relname as name from pg_catalog.pg_class
    join pg_catalog.pg_namespace on pg_namespace.oid = relnamespace and nspname in ('catalog', 'access')
    where relkind = 'r' and has_schema_privilege(relnamespace, 'usage') and has_table_privilege(pg_class.oid, 'select')
    order by name`.execute(kysely);
  return rows.map(({ name }) => name);
}

/** Describes the sessions at the head of the queue for the table that a session waits for. */
async function describeBlockers(database: Database, pid: number | null): Promise<Finding[]> {
  const waited = sql`select relation::regclass::text as value from pg_locks where pid = ${pid} and not granted`;
  const { rows: blockers } = await sql<Blocker>`
    with recursive waiting (pid) as (
      select ${pid}::integer union select unnest(pg_blocking_pids(waiting.pid)) from waiting)
    select pid, coalesce(usename, '') as role, application_name as application, state,
      to_char(xact_start at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as since,
      left(query, ${MAX_QUERY_LENGTH}) as query
    from waiting join pg_stat_activity using (pid)
    where cardinality(pg_blocking_pids(pid)) = 0 order by since, pid`.execute(database.kysely);
  const table = (await readValue<string>(database, waited)) ?? 'a table';
  const waits = `requests that read ${table} wait, and fail after 5 seconds`;
  if (blockers.length === 0) {
    return [fail(about, `${waits}; no session that blocks them is shown`, 'Look at pg_locks as a superuser.')];
  }
  return blockers.map(({ pid, role, application, state, since, query }) => {
    const doing =
      state === null ? 'its state is hidden from this role' : `${state}, in a transaction since ${since ?? '?'}`;
    const session = `session ${pid} (application "${printable(application)}", role ${printable(role)}, ${doing})`;
    const statement = state === null ? '' : `. Its last statement: ${printable((query ?? '').replaceAll(/\s+/g, ' '))}`;
    const advice = `End its transaction. If nobody can, run "select pg_terminate_backend(${pid})" as ${printable(role)} or a superuser.`;
    return fail(about, `${waits}, because of ${session}${statement}`, advice);
  });
}
