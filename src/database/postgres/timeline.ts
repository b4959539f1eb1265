import { sql } from 'kysely';
import type { Database } from '../database.ts';
import { readLastEvent } from '../event-log.ts';
import { readStoredSetting, storeSetting } from '../rows.ts';
import { readValue } from '../statement.ts';

const TIMELINE = 'history';

/** Whether a database can be promoted or restored while services use it: only commands that recover replace SQLite's. */
export function hasTimelines({ engine }: Database): boolean {
  return engine === 'postgres';
}

/**
 * Identifies a PostgreSQL database's timeline. Promoting a replica and point-in-time recovery start a new one;
 * `pg_restore` and template copies assign new OIDs. After any of these, changes that clients have seen may be missing.
 *
 * @returns null on SQLite, on a replica, and if this role lacks the privilege to read it.
 */
export async function readTimeline(database: Database): Promise<string | null> {
  if (!hasTimelines(database)) return null;
  const isAllowed = sql`select not pg_is_in_recovery() and has_function_privilege('pg_control_system()', 'execute')
    and has_function_privilege('pg_current_wal_lsn()', 'execute')
    and has_function_privilege('pg_walfile_name(pg_lsn)', 'execute') as value`;
  // PostgreSQL checks function privileges before the statement begins, whatever its conditions.
  if ((await readValue<boolean>(database, isAllowed)) !== true) return null;
  const timeline = sql`select concat_ws('/',
    (select system_identifier from pg_control_system()),
    -- The first eight digits of a WAL file's name are its timeline ID.
    left(pg_walfile_name(pg_current_wal_lsn()), 8),
    (select oid from pg_catalog.pg_database where datname = current_database()),
    'access.events'::regclass::oid) as value`;
  return readValue(database, timeline);
}

/** Null if none was recorded. */
export function readRecordedTimeline(database: Database): Promise<string | null> {
  return readStoredSetting(database, TIMELINE);
}

/** Records the timeline that timestamps continue. Only migrations and recoveries do: others would hide a loss. */
export async function recordTimeline(database: Database): Promise<void> {
  const value = await readTimeline(database);
  if (value !== null) await storeSetting(database, TIMELINE, value);
}

/** True if the database is not on its recorded timeline: `pds recover` must be run. */
export async function hasTimelineChanged(database: Database): Promise<boolean> {
  const [recorded, current] = [await readRecordedTimeline(database), await readTimeline(database)];
  return recorded !== null && current !== null && recorded !== current;
}

/** The setting that records a noticed loss. */
export const LOSS = 'loss';

/** Changes that a service had read, and that the database lacks. */
export interface Loss {
  readonly noticedAt: string;
  /** Changes after this timestamp can be lost. */
  readonly since: string;
}

/**
 * Records, until `pds recover`, that changes which a service had read are lost. Of several processes that notice it, the
 * first does. Does nothing on SQLite.
 */
export async function recordLoss(database: Database, noticedAt: string): Promise<void> {
  if (!hasTimelines(database)) return;
  // A promoted server knows the last transaction that it received; nothing else knows that of a restored one.
  const replayed = sql`select
    to_char(pg_last_xact_replay_timestamp() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as value`;
  const loss: Loss = { noticedAt, since: (await readValue(database, replayed)) ?? (await readLastEvent(database)) };
  // The conflict has no target: the role of a service could not update it.
  await sql`insert into access.settings (name, value) values (${LOSS}, ${JSON.stringify(loss)})
    on conflict do nothing`.execute(database.kysely);
}

/** The loss that was noticed since the last reset; null if there was none. */
export async function readLoss(database: Database): Promise<Loss | null> {
  const value = await readStoredSetting(database, LOSS);
  return value === null ? null : (JSON.parse(value) as Loss);
}
