import { sql } from 'kysely';
import type { Database } from '../database.ts';
import { readLastEvents } from '../commit-timestamps.ts';
import { readStoredSetting, storeSetting } from '../rows.ts';
import { latestOf } from '../../timestamp.ts';

/** The setting that records the timeline on which earlier commit timestamps were drawn. */
export const TIMELINE = 'history';

/** Whether a database can be promoted or restored while services use it: SQLite's is replaced only by commands that recover. */
export function hasTimelines({ engine }: Database): boolean {
  return engine === 'postgres';
}

/**
 * Identifies a PostgreSQL database's timeline: the server's system identifier, its timeline ID, and the OIDs of the
 * database and of `access.clock`. Promoting a replica and point-in-time recovery start a new timeline; `pg_restore` and
 * template copies assign new OIDs. After any of these, changes that clients have seen may be missing.
 *
 * @returns null on SQLite, on a replica, and if this role lacks the privilege to read it.
 */
export async function readTimeline(database: Database): Promise<string | null> {
  if (!hasTimelines(database)) return null;
  const { kysely } = database;
  const { rows: allowed } = await sql<{ ok: boolean }>`select not pg_is_in_recovery()
    and has_function_privilege('pg_control_system()', 'execute')
    and has_function_privilege('pg_current_wal_lsn()', 'execute')
    and has_function_privilege('pg_walfile_name(pg_lsn)', 'execute') as ok`.execute(kysely);
  // PostgreSQL checks function privileges before the statement begins, whatever its conditions.
  if (allowed[0]?.ok !== true) return null;
  const { rows } = await sql<{ timeline: string }>`select concat_ws('/',
    (select system_identifier from pg_control_system()),
    -- The first eight digits of a WAL file's name are its timeline ID.
    left(pg_walfile_name(pg_current_wal_lsn()), 8),
    (select oid from pg_catalog.pg_database where datname = current_database()),
    'access.clock'::regclass::oid) as timeline`.execute(kysely);
  return rows[0]?.timeline ?? null;
}

/** The recorded timeline; null if none was recorded. */
export function readRecordedTimeline(database: Database): Promise<string | null> {
  return readStoredSetting(database, TIMELINE);
}

/**
 * Records the database's current timeline as the one that its timestamps continue. Only the first migration and `pds
 * recover` call this, so a lost timeline is still detected after later imports and grants.
 */
export async function recordTimeline(database: Database): Promise<void> {
  const value = await readTimeline(database);
  if (value !== null) await storeSetting(database, TIMELINE, value);
}

/** True if the database is not on its recorded timeline: `pds recover` must be run. */
export async function hasTimelineChanged(database: Database): Promise<boolean> {
  const [recorded, current] = [await readRecordedTimeline(database), await readTimeline(database)];
  return recorded !== null && current !== null && recorded !== current;
}

/** The setting that records noticed losses. */
export const LOSS = 'loss';

/** Changes that a service had read, and that the database lacks. */
export interface Loss {
  readonly noticedAt: string;
  /** Changes after this timestamp can be lost. */
  readonly since: string;
}

/**
 * Records that changes are lost, until `pds recover` deletes it. Of several processes that notice it, the first does. Does
 * nothing on SQLite.
 */
export async function recordLoss(database: Database, noticedAt: string): Promise<void> {
  if (!hasTimelines(database)) return;
  const { kysely } = database;
  // A promoted server knows the last transaction that it received; nothing else knows that of a restored one.
  const { rows } = await sql<{ replayed: string | null }>`select
    to_char(pg_last_xact_replay_timestamp() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as replayed`.execute(
    kysely,
  );
  const { published, drawn } = await readLastEvents(database);
  const loss: Loss = { noticedAt, since: rows[0]?.replayed ?? latestOf(published, drawn) };
  // The conflict has no target: the role of a service could not update it.
  await sql`insert into access.settings (name, value) values (${LOSS}, ${JSON.stringify(loss)})
    on conflict do nothing`.execute(kysely);
}

/** The first loss that was noticed since the last `pds recover`; null if there was none. */
export async function readLoss(database: Database): Promise<Loss | null> {
  const value = await readStoredSetting(database, LOSS);
  return value === null ? null : (JSON.parse(value) as Loss);
}
