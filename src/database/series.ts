import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { addMilliseconds, EPOCH, formatInstant, latestOf, type Clock } from '../instant.ts';
import type { Database } from './database.ts';

/**
 * Between two instants of the series is one millisecond that is not: the watermark of the earlier one. So no `updated_at`
 * that is drawn from the series equals a watermark.
 */
const LEAST_DISTANCE_MS = 2;

/**
 * Draws the next instant of the one series that publications and changes of grants share:
 * later than every earlier one by at least two milliseconds, even if the clock stepped back.
 *
 * Holds the lock on `access.clock` until the end of the transaction, so that instants become
 * visible in the order in which they were drawn: draw late, commit soon. The last publication
 * is looked up too, since a crash between the commits of SQLite's two files may have left the
 * catalog's alone on disk.
 *
 * @param transaction must be one, and on SQLite must not have read from `access` before.
 * @param after an instant that it has to be later than besides, where the database does not know of all.
 */
export async function drawInstant(transaction: Database, clock: Clock, after = EPOCH): Promise<string> {
  const { kysely } = transaction;
  await raiseAccessVersion(transaction);
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
  const now = formatInstant(clock());
  const earliest = addMilliseconds(latestOf(drawn.last_instant, drawn.published ?? EPOCH, after), LEAST_DISTANCE_MS);
  const instant = now > earliest ? now : earliest;
  await kysely.updateTable('access.clock').set({ last_instant: instant }).execute();
  return instant;
}

/** Tells running servers that partners, keys, grants or the catalog changed; to be the first statement of a change. */
export async function raiseAccessVersion({ kysely }: Database): Promise<void> {
  await kysely
    .updateTable('access.clock')
    .set({ version: sql<number>`version + 1`, token: randomUUID() })
    .execute();
}
