import { sql } from 'kysely';
import { inTransaction, type Database, type OpenDatabase } from '../database/database.ts';
import { nextCommitTimestamp, bumpRevision, readLastEvents } from '../database/commit-timestamps.ts';
import { firstRow } from '../database/statement.ts';
import type { Clock } from '../timestamp.ts';

/** The next release's number. `lockCatalog` keeps other imports from taking it. */
export async function nextReleaseNumber({ kysely }: Database): Promise<number> {
  const { rows } = await sql<{ last: number | null }>`select max(number) as last from catalog.publications`.execute(
    kysely,
  );
  return (firstRow(rows).last ?? 0) + 1;
}

/**
 * Draws a release's timestamp, and stores the release. Call it last but for the audit entry: it locks `access.clock`,
 * for which keys and grants wait.
 *
 * @param after a timestamp that the release's must also exceed.
 */
export async function announceRelease(
  transaction: Database,
  release: { number: number; token: string },
  clock: Clock,
  after?: string,
): Promise<string> {
  const { kysely } = transaction;
  const timestamp = await nextCommitTimestamp(transaction, clock, after);
  await sql`insert into catalog.publications (number, instant, token)
    values (${release.number}, ${timestamp}, ${release.token})`.execute(kysely);
  await announce(transaction, timestamp);
  return timestamp;
}

/**
 * Announces a release that is in `catalog` but not in `access`, because the importing process died between SQLite's
 * two commits. Partners see the new records already, but servers still serve stale cache entries, since only `access`
 * signals a change.
 *
 * @returns the release's timestamp; null if there is none to announce.
 */
export async function announceInterrupted(database: OpenDatabase): Promise<string | null> {
  if (database.engine === 'postgres' || (await findUnannounced(database)) === null) return null;
  return inTransaction(database, async (transaction) => {
    // Waits for an import that is between its two commits: it holds the lock on `access` until the second.
    await bumpRevision(transaction);
    const timestamp = await findUnannounced(transaction);
    if (timestamp !== null) await announce(transaction, timestamp);
    return timestamp;
  });
}

async function announce({ kysely }: Database, timestamp: string): Promise<void> {
  await sql`update access.clock set last_publication = ${timestamp}`.execute(kysely);
}

async function findUnannounced(database: Database): Promise<string | null> {
  const { published, announced } = await readLastEvents(database);
  return published > announced ? published : null;
}
