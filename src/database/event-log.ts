import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { addMilliseconds, EPOCH, formatTimestamp, latestOf, type Clock } from '../timestamp.ts';
import { inTransaction, type Database } from './database.ts';
import { firstRow } from './statement.ts';
import type { EventRow } from './tables.ts';

/* Appending to `access.events`, the log of all that running services and clients must notice. */

/**
 * A watermark is one millisecond after an event. At this distance it is before the next one, so that no `updated_at`
 * taken from a commit timestamp equals a watermark.
 */
const MIN_DISTANCE_MS = 2;

// An arbitrary number that nothing else on the server uses; see the migrator's.
const LOG_LOCK = 0x70647303;

/** An event to append, at the timestamp that `lockLog` returned. */
export type NewEvent =
  /** The number is that of `nextReleaseNumber`. */
  | { readonly what: 'release' | 'reset'; readonly number: number }
  | { readonly what: 'scope'; readonly partnerId: number; readonly narrows: EventRow['narrows'] }
  | { readonly what: 'partner' | 'key'; readonly partnerId: number };

/**
 * Locks the log until the transaction ends, so that events become visible in the order of their timestamps: lock late,
 * commit soon. Nothing is appended unless `appendEvent` is called.
 *
 * On SQLite it must be the transaction's first statement on `access`, and completes a release that was cut off between
 * the commits of the two files.
 *
 * @param after a timestamp that the next event must exceed, if the database does not hold all earlier ones.
 * @returns the timestamp of the next event: at least two milliseconds after every earlier one, even if the clock
 *   stepped back.
 */
export async function lockLog(transaction: Database, clock: Clock, after = EPOCH): Promise<string> {
  await takeLock(transaction);
  const { logged, published } = await readLastEvents(transaction);
  const earliest = addMilliseconds(latestOf(logged, published, after), MIN_DISTANCE_MS);
  return latestOf(formatTimestamp(clock()), earliest);
}

/** Returns the timestamp of the last release that was completed; null for none. */
async function takeLock(transaction: Database): Promise<string | null> {
  const { engine, kysely } = transaction;
  if (engine === 'postgres') {
    // A statement of its own: one that waited for the lock would still read what was there before.
    await sql`select pg_advisory_xact_lock(${LOG_LOCK}::bigint)`.execute(kysely);
    return null;
  }
  await sql`update access.events set at = at where false`.execute(kysely);
  const cutOff = await readCutOff(transaction);
  for (const { at, release } of cutOff) {
    const event = { at, token: randomUUID(), what: 'release', partner_id: null, narrows: null, release } as const;
    await insertEvent(transaction, event);
  }
  return cutOff.at(-1)?.at ?? null;
}

/** Appends an event. Call it once in a transaction, with the log locked. */
export async function appendEvent(transaction: Database, at: string, event: NewEvent): Promise<void> {
  const isRelease = 'number' in event;
  await insertEvent(transaction, {
    at,
    token: randomUUID(),
    what: event.what,
    partner_id: isRelease ? null : event.partnerId,
    narrows: 'narrows' in event ? event.narrows : null,
    release: isRelease ? event.number : await readLoggedRelease(transaction),
  });
}

async function insertEvent({ kysely }: Database, event: EventRow): Promise<void> {
  await kysely.insertInto('access.events').values(event).execute();
}

async function readLoggedRelease({ kysely }: Database): Promise<number> {
  const { rows } = await sql.raw<{ release: number }>(LAST_RELEASE).execute(kysely);
  return firstRow(rows).release;
}

/** Reads the number of the last release or reset in the log as one row with a `release`; 0 before the first. */
const LAST_RELEASE = `select coalesce(
  (select release from access.events where partner_id is null order by at desc limit 1), 0) as release`;

/** The next number of a release or reset. The lock of `lockCatalog` keeps others from taking it. */
export async function nextReleaseNumber(database: Database): Promise<number> {
  const { kysely, readBeside } = database;
  // A transaction of SQLite that has read the log could no longer append to it, if anything is appended meanwhile.
  const logged = readBeside?.(LAST_RELEASE)?.['release'] ?? (await readLoggedRelease(database));
  const { rows } = await sql<{ last: number }>`
    select coalesce(max(number), 0) as last from catalog.releases`.execute(kysely);
  return Math.max(Number(logged), firstRow(rows).last) + 1;
}

/** The timestamps of the last events, as each group of tables knows them; the epoch before the first. */
interface LastEvents {
  /** Of the last release in `catalog`. */
  readonly published: string;
  /** Of the last event in the log. */
  readonly logged: string;
}

/** Reads the last events. On SQLite, which reads one file after the other, a release can be in one of them only. */
async function readLastEvents({ kysely }: Database): Promise<LastEvents> {
  const { rows } = await sql<LastEvents>`select
    coalesce((select max(at) from catalog.releases), ${sql.lit(EPOCH)}) as published,
    coalesce((select max(at) from access.events), ${sql.lit(EPOCH)}) as logged`.execute(kysely);
  return firstRow(rows);
}

/** The timestamp of the last event; the epoch before the first. */
export async function readLastEvent(database: Database): Promise<string> {
  const { published, logged } = await readLastEvents(database);
  return latestOf(published, logged);
}

/**
 * Appends a release that is in `catalog` but not in the log, because the importing process died between SQLite's two
 * commits. Partners see the new records already, but servers still serve stale cache entries, since only the log
 * signals a change.
 *
 * @returns the release's timestamp; null if there is none to complete.
 */
export async function completeCutOff(database: Database): Promise<string | null> {
  if (database.engine === 'postgres' || (await readCutOff(database)).length === 0) return null;
  // Waits for an import that is between its two commits: it holds the lock on the log until the second.
  return inTransaction(database, takeLock);
}

/** The releases in the catalog that are later than the log. */
async function readCutOff({ kysely }: Database): Promise<{ at: string; release: number }[]> {
  const { rows } = await sql<{ at: string; release: number }>`select at, number as release from catalog.releases
    where at > coalesce((select max(at) from access.events), '') order by at`.execute(kysely);
  return rows;
}

/**
 * Deletes the events before the last release or reset that is older than a timestamp. What later events depend on stays:
 * the last reset, and each partner's last change of its scope, and the last that narrowed it.
 *
 * Deleted watermarks are unknown from then on, and so are those that stay if releases after them are deleted. So nobody
 * needs the departures of earlier releases any more.
 *
 * @returns the number of that release or reset; 0 if there is none.
 */
export function pruneLog(database: Database, before: string): Promise<number> {
  return inTransaction(database, async ({ kysely }) => {
    const isOld = sql`partner_id is null and at < ${before}`;
    await sql`delete from access.events as event
      where at < (select max(at) from access.events where ${isOld})
        and at <> coalesce((select max(at) from access.events where partner_id is null and what = 'reset'), '')
        and (what <> 'scope' or exists (select 1 from access.events as later
          where later.what = 'scope' and later.partner_id = event.partner_id and later.at > event.at))
        and (what <> 'scope' or narrows is null or exists (select 1 from access.events as later
          where later.what = 'scope' and later.partner_id = event.partner_id and later.at > event.at
            and later.narrows is not null))`.execute(kysely);
    const { rows } = await sql<{ release: number }>`select release from access.events
      where ${isOld} order by at desc limit 1`.execute(kysely);
    return rows[0]?.release ?? 0;
  });
}
