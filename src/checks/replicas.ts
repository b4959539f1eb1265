import { setTimeout as delay } from 'node:timers/promises';
import { sql } from 'kysely';
import type { Database } from '../database/database.ts';
import { shownPostgresUrl } from '../database/postgres/postgres-url.ts';
import { numberOf, readRevision } from '../database/revision.ts';
import { readAbilities } from './abilities.ts';
import { fail, ok, warn, type Finding } from './finding.ts';
import { onPostgres } from './postgres-server.ts';
import { readIdentity, type PrimaryState } from './primary.ts';

/** How long a replica can take to reach the primary's earlier revision. */
const CATCH_UP_TIMEOUT_MS = 2_000;
const POLL_INTERVAL_MS = 100;

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
    const advice = 'Remove it from PDS_REPLICA_URLS, or correct its URL: it would serve other data.';
    return fail(about, 'it is a replica of a different database', advice);
  }
  if (rows[0]?.standby !== true) {
    const advice =
      'Remove it from PDS_REPLICA_URLS. If it was promoted, set PDS_DATABASE_URL to it and run "pds recover".';
    return fail(about, 'it is not a replica: it accepts writes', advice);
  }
  const { me, hasTables, lacksToServe } = await readAbilities(database);
  const unread = lacksToServe.filter(({ privilege }) => privilege === 'select');
  if (!hasTables || unread.length > 0) {
    const message = hasTables ? `${me} cannot read ${unread[0]?.table ?? ''}` : 'the tables are missing';
    return fail(about, message, 'Use the database of PDS_DATABASE_URL in its URL, and a role that can serve.');
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
  const deadlineMs = performance.now() + CATCH_UP_TIMEOUT_MS;
  let behind = await isBehind();
  while (behind && performance.now() < deadlineMs) {
    await delay(POLL_INTERVAL_MS);
    behind = await isBehind();
  }
  const { rows } = await sql<{ paused: boolean; receives: boolean }>`
    select pg_is_wal_replay_paused() as paused,
      exists (select from pg_stat_wal_receiver where pid is not null) as receives`.execute(database.kysely);
  const { paused = false, receives = false } = rows[0] ?? {};
  const progress = behind
    ? "it lacks the primary's latest changes, so the primary serves its share of requests"
    : 'it is up to date';
  if (paused) return warn(about, `${progress}; its WAL replay is paused`, 'Run "select pg_wal_replay_resume()" on it.');
  if (!receives) {
    const advice =
      'Check that it can reach the primary. After a promotion, create it again: it follows a timeline that has ended.';
    return warn(about, `${progress}; it receives nothing from its primary`, advice);
  }
  if (behind) return warn(about, progress, 'It is used again once it has caught up. If it never does, it is too slow.');
  return ok(about, primary === null ? 'it responds, but could not be compared with the primary' : progress);
}
