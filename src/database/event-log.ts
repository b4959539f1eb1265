import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { addMilliseconds, EPOCH, formatTimestamp, latestOf, type Clock } from '../timestamp.ts';
import { inTransaction, type Database } from './database.ts';
import { readValue } from './statement.ts';
import type { EventRow } from './tables.ts';

/** A watermark is 1 ms after an event: at this distance no `updated_at` equals one, and it is before the next event. */
const MIN_DISTANCE_MS = 2;

// An arbitrary number that nothing else on the server uses; see the migrator's.
const LOG_LOCK = 0x70647303;

/** An event to append, at the timestamp that `lockLog` returned. */
type NewEvent =
  | ({ readonly what: 'release' | 'reset'; readonly number: number } & Pick<EventRow, 'file' | 'made_from'>)
  | { readonly what: 'scope'; readonly partnerId: number; readonly narrows: EventRow['narrows'] }
  | { readonly what: 'partner' | 'key'; readonly partnerId: number };

/**
 * Locks the log until the transaction ends, so that events become visible in the order of their timestamps: lock late,
 * commit soon. On SQLite it must be the transaction's first statement on `access`, which waits only if it writes.
 *
 * @param after a timestamp that the next event must exceed, if the log does not hold all earlier ones.
 * @returns the timestamp of the next event, 2 ms or more after the last. Only `appendEvent` puts it into the log.
 */
export async function lockLog(transaction: Database, clock: Clock, after = EPOCH): Promise<string> {
  const { engine, kysely } = transaction;
  // A statement of its own: one that waited for the lock would still read what was there before.
  if (engine === 'postgres') await sql`select pg_advisory_xact_lock(${LOG_LOCK}::bigint)`.execute(kysely);
  else await sql`update access.events set at = at where false`.execute(kysely);
  const last = await readValue<string>(transaction, sql`select max(at) as value from access.events`);
  const earliest = addMilliseconds(latestOf(last ?? EPOCH, after), MIN_DISTANCE_MS);
  return latestOf(formatTimestamp(clock()), earliest);
}

type EventParts = Pick<EventRow, 'narrows' | 'file' | 'made_from'> & { readonly partnerId: number | null };

/** Appends an event. Call it once in a transaction, with the log locked. */
export async function appendEvent(transaction: Database, at: string, event: NewEvent): Promise<void> {
  const { partnerId = null, narrows = null, file = null, made_from = null }: Partial<EventParts> = event;
  const release = 'number' in event ? event.number : await readLoggedRelease(transaction);
  await sql`insert into access.events (at, token, what, partner_id, narrows, release, file, made_from)
    values (${at}, ${randomUUID()}, ${event.what}, ${partnerId}, ${narrows}, ${release}, ${file}, ${made_from})`.execute(
    transaction.kysely,
  );
}

async function readLoggedRelease(database: Database): Promise<number> {
  return (await findLastRelease(database))?.release ?? 0;
}

/** The next number of a release or reset. The lock of imports keeps others from taking it. */
export async function nextReleaseNumber(database: Database): Promise<number> {
  return Math.max(await readLoggedRelease(database), await readPublishedNumber(database)) + 1;
}

/** The number of the last release in the catalog; 0 before the first. */
export async function readPublishedNumber(database: Database): Promise<number> {
  return (await readValue<number>(database, sql`select max(number) as value from catalog.releases`)) ?? 0;
}

/** A release or reset. On SQLite it names a catalog, unless it came before the first release. */
export type ReleaseEvent = Pick<EventRow, 'at' | 'what' | 'release' | 'file' | 'made_from'>;

/** The last releases and resets, the newest first. */
export async function listReleases({ kysely }: Database, limit: number): Promise<ReleaseEvent[]> {
  const { rows } = await sql<ReleaseEvent>`select at, what, release, file, made_from from access.events
    where partner_id is null order by at desc limit ${limit}`.execute(kysely);
  return rows;
}

/** The names of the catalogs in the log, that of the last release or reset first. */
export async function listNamedFiles(database: Database): Promise<Set<string>> {
  const releases = await listReleases(database, Number.MAX_SAFE_INTEGER);
  return new Set(releases.flatMap(({ file }) => file ?? []));
}

/** The last release or reset; null before the first. */
export async function findLastRelease(database: Database): Promise<ReleaseEvent | null> {
  return (await listReleases(database, 1))[0] ?? null;
}

/** The timestamp of the last release in the catalog; the epoch before the first. */
export async function readPublishedAt(database: Database): Promise<string> {
  return (await readValue<string>(database, sql`select max(at) as value from catalog.releases`)) ?? EPOCH;
}

/** The timestamp of the last event; the epoch before the first. The catalog of a restored database can be later. */
export async function readLastEvent(database: Database): Promise<string> {
  const last = await readValue<string>(database, sql`select max(at) as value from access.events`);
  return latestOf(last ?? EPOCH, await readPublishedAt(database));
}

/**
 * Deletes the events before the last release or reset that is older than a timestamp, except the last reset, each
 * partner's last change of its scope, and the last that narrowed it. Deleted watermarks are unknown from then on, and so
 * are those before a deleted release. So nobody needs the departures of earlier releases any more.
 *
 * @param keptFiles the number of catalogs that SQLite keeps: events that name them stay, so that a rollback finds them.
 * @returns the number of that release or reset; 0 if there is none.
 */
export function pruneLog(database: Database, before: string, keptFiles: number): Promise<number> {
  return inTransaction(database, async (transaction) => {
    const isOld = sql`partner_id is null and at < ${before} and at <= coalesce((select min(at) from (
      select max(at) as at from access.events where partner_id is null and file is not null
      group by file order by max(at) desc limit ${keptFiles}) as kept), ${before})`;
    await sql`delete from access.events as event
      where at < (select max(at) from access.events where ${isOld})
        and at <> coalesce((select max(at) from access.events where partner_id is null and what = 'reset'), '')
        and (what <> 'scope' or exists (select 1 from access.events as later
          where later.what = 'scope' and later.partner_id = event.partner_id and later.at > event.at))
        and (what <> 'scope' or narrows is null or exists (select 1 from access.events as later
          where later.what = 'scope' and later.partner_id = event.partner_id and later.at > event.at
            and later.narrows is not null))`.execute(transaction.kysely);
    const oldest = sql`select release as value from access.events where ${isOld} order by at desc limit 1`;
    return (await readValue<number>(transaction, oldest)) ?? 0;
  });
}
