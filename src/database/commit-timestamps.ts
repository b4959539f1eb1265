import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { addMilliseconds, EPOCH, formatTimestamp, latestOf, type Clock } from '../timestamp.ts';
import type { Database } from './database.ts';

/**
 * Commit timestamps are at least 2 ms apart. The millisecond before each one is the watermark of the one before, so no
 * `updated_at` taken from a commit timestamp equals a watermark.
 */
const MIN_DISTANCE_MS = 2;

/**
 * Returns the next commit timestamp, shared by releases and grant changes: at least two milliseconds later than
 * every earlier one, even if the clock stepped back.
 *
 * Locks `access.clock` until the transaction ends, so that timestamps become visible in the order they were drawn: draw
 * late, commit soon. Also reads the last release's timestamp, since a crash between the commits of SQLite's two
 * files can leave only the catalog's on disk.
 *
 * @param transaction must be a transaction; on SQLite, one that has not read from `access` before.
 * @param after a timestamp that the new one must also exceed, if the database does not hold all earlier ones.
 */
export async function nextCommitTimestamp(transaction: Database, clock: Clock, after = EPOCH): Promise<string> {
  const { kysely } = transaction;
  await bumpRevision(transaction);
  const drawn = await kysely
    .selectFrom('access.clock')
    .select('last_instant')
    .select((eb) =>
      eb
        .selectFrom('catalog.publications')
        .select((p) => p.fn.max('instant').as('i'))
        .as('published'),
    )
    .executeTakeFirstOrThrow();
  const now = formatTimestamp(clock());
  const earliest = addMilliseconds(latestOf(drawn.last_instant, drawn.published ?? EPOCH, after), MIN_DISTANCE_MS);
  const timestamp = now > earliest ? now : earliest;
  await kysely.updateTable('access.clock').set({ last_instant: timestamp }).execute();
  return timestamp;
}

/**
 * Bumps the revision, so that running servers notice a change of partners, keys, grants or the catalog. Must be the
 * first statement of a change.
 */
export async function bumpRevision({ kysely }: Database): Promise<void> {
  await kysely
    .updateTable('access.clock')
    .set({ version: sql<number>`version + 1`, token: randomUUID() })
    .execute();
}
