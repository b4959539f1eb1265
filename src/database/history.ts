import { sql } from 'kysely';
import type { Database } from './database.ts';

/** The setting that names the course of events on which the instants so far were drawn. */
const HISTORY = 'history';

/**
 * Names the course of events that a PostgreSQL database is on: the server's system, its timeline,
 * and the oids of the database and of the table of the clock. A replica that is promoted and a
 * recovery to a point in time begin a new timeline; what `pg_restore` or a template made has new
 * oids. After each of these, events may be missing that clients have seen.
 *
 * @returns null on SQLite, on a replica, and where the server does not let this role see it.
 */
export async function readHistory({ engine, kysely }: Database): Promise<string | null> {
  if (engine === 'sqlite') return null;
  const { rows: allowed } = await sql<{ ok: boolean }>`select not pg_is_in_recovery()
    and has_function_privilege('pg_control_system()', 'execute')
    and has_function_privilege('pg_current_wal_lsn()', 'execute')
    and has_function_privilege('pg_walfile_name(pg_lsn)', 'execute') as ok`.execute(kysely);
  // A function that may not be executed is refused before the statement begins, whatever its conditions.
  if (allowed[0]?.ok !== true) return null;
  const { rows } = await sql<{ history: string }>`select concat_ws('/',
    (select system_identifier from pg_control_system()),
    -- The first eight digits of the name of a file of the log are the timeline that is being written.
    left(pg_walfile_name(pg_current_wal_lsn()), 8),
    (select oid from pg_catalog.pg_database where datname = current_database()),
    'access.clock'::regclass::oid) as history`.execute(kysely);
  return rows[0]?.history ?? null;
}

/** The history that was recorded; null where none was. */
export async function readRecordedHistory({ kysely }: Database): Promise<string | null> {
  const row = await kysely.selectFrom('access.settings').select('value').where('name', '=', HISTORY).executeTakeFirst();
  return row?.value ?? null;
}

/**
 * Records the history that the database is on now as the one on which its instants go on: at the
 * first migration, and by `pds recover`. Nothing else does, so that it is still known after
 * imports and grants that history was lost before them.
 */
export async function recordHistory(database: Database): Promise<void> {
  const value = await readHistory(database);
  if (value === null) return;
  await database.kysely
    .insertInto('access.settings')
    .values({ name: HISTORY, value })
    .onConflict((conflict) => conflict.column('name').doUpdateSet({ value }))
    .execute();
}

/** True where the database is on another history than was recorded: `pds recover` has to be run. */
export async function isHistoryOther(database: Database): Promise<boolean> {
  const [recorded, current] = [await readRecordedHistory(database), await readHistory(database)];
  return recorded !== null && current !== null && recorded !== current;
}
