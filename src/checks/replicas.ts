import { setTimeout as delay } from 'node:timers/promises';
import { sql } from 'kysely';
import type { Database } from '../database/database.ts';
import { shownPostgresUrl } from '../database/postgres-url.ts';
import { numberOf, readRevision } from '../database/revision.ts';
import { readAbilities } from '../database/roles.ts';
import { fail, ok, warn, type Finding } from './finding.ts';
import { onPostgres } from './postgres-server.ts';
import { readIdentity, type PrimaryState } from './primary.ts';

/** How long a replica can take to reach the primary's earlier revision. */
const PATIENCE_MS = 2_000;
const LOOK_AGAIN_MS = 100;

/** Checks one replica. The primary serves the reads that a replica cannot. */
export function checkReplica(url: string, primary: PrimaryState | null): Promise<Finding[]> {
  const about = `replica ${shownPostgresUrl(url)}`;
  return onPostgres({ about, url, setting: 'PDS_REPLICA_URLS' }, async (database) => [
    (await findMismatch(about, database, primary)) ?? (await checkProgress(about, database, primary)),
  ]);
}

/** Reports a server that is not a readable replica of this primary; null if it is one. */
async function findMismatch(about: string, database: Database, primary: PrimaryState | null): Promise<Finding | null> {
  const { rows } = await sql<{ standby: boolean }>`select pg_is_in_recovery() as standby`.execute(database.kysely);
  const identity = await readIdentity(database);
  if (primary?.identity != null && identity !== null && identity !== primary.identity) {
    const advice = 'take it out of PDS_REPLICA_URLS, or set the name in its URL right: it would answer with other data';
    return fail(about, 'it belongs to another database than the primary', advice);
  }
  if (rows[0]?.standby !== true) {
    const advice =
      'take it out of PDS_REPLICA_URLS. Was it promoted? Then PDS_DATABASE_URL has to name it, and "pds recover" be run';
    return fail(about, 'it is no replica: it takes writes of its own', advice);
  }
  const { me, hasTables, lacksToServe } = await readAbilities(database);
  const unread = lacksToServe.filter(({ privilege }) => privilege === 'select');
  if (!hasTables || unread.length > 0) {
    const message = hasTables ? `${me} may not read ${unread[0]?.table ?? ''}` : 'the tables are not there';
    return fail(about, message, 'let its URL name the same database as PDS_DATABASE_URL, and a role that may serve');
  }
  return null;
}

/** Checks that it has reached the primary's earlier revision. */
async function checkProgress(about: string, database: Database, primary: PrimaryState | null): Promise<Finding> {
  const isBehind = async (): Promise<boolean> => {
    if (primary === null) return false;
    const revision = await readRevision(database.kysely);
    // The same number with another token belongs to changes that the primary has lost.
    return revision !== primary.revision && numberOf(revision) <= numberOf(primary.revision);
  };
  const giveUpAtMs = performance.now() + PATIENCE_MS;
  let behind = await isBehind();
  while (behind && performance.now() < giveUpAtMs) {
    await delay(LOOK_AGAIN_MS);
    behind = await isBehind();
  }
  const { rows } = await sql<{ paused: boolean; receives: boolean }>`
    select pg_is_wal_replay_paused() as paused,
      exists (select from pg_stat_wal_receiver where pid is not null) as receives`.execute(database.kysely);
  const { paused = false, receives = false } = rows[0] ?? {};
  const shows = behind
    ? 'it lacks what the primary published or changed last, which answers in its place'
    : 'it is up to date';
  if (paused) return warn(about, `${shows}; its replay is paused`, 'select pg_wal_replay_resume() on it');
  if (!receives) {
    const advice = 'can it reach the primary? After a promotion make it anew: it follows a history that has ended';
    return warn(about, `${shows}; it receives nothing from its primary`, advice);
  }
  if (behind)
    return warn(about, shows, 'it is read from again as soon as it caught up; if it never does, it is too slow');
  return ok(about, primary === null ? 'it answers; the primary, to compare it with, could not be read' : shows);
}
