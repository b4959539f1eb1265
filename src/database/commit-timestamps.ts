import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { addMilliseconds, EPOCH, formatTimestamp, latestOf, type Clock } from '../timestamp.ts';
import type { Database } from './database.ts';
import { firstRow } from './statement.ts';

/**
 * A watermark is one millisecond after an event. At this distance it is before the next one, so that no `updated_at`
 * taken from a commit timestamp equals a watermark.
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
  await bumpRevision(transaction);
  const { drawn, published } = await readLastEvents(transaction);
  const now = formatTimestamp(clock());
  const earliest = addMilliseconds(latestOf(drawn, published, after), MIN_DISTANCE_MS);
  const timestamp = now > earliest ? now : earliest;
  await sql`update access.clock set last_instant = ${timestamp}`.execute(transaction.kysely);
  return timestamp;
}

/** The timestamps of the last events, as each group of tables knows them; the epoch before the first. */
interface LastEvents {
  /** Of the last release in `catalog`. */
  readonly published: string;
  /** Of the last release that `access` knows. */
  readonly announced: string;
  /** The last commit timestamp that was drawn, of a release or a change of grants. */
  readonly drawn: string;
}

/** Reads the last events. On SQLite, which reads one file after the other, a release can be in one of them only. */
export async function readLastEvents({ kysely }: Database): Promise<LastEvents> {
  const { rows } = await sql<LastEvents>`select
    coalesce((select max(instant) from catalog.publications), ${sql.lit(EPOCH)}) as published,
    last_publication as announced, last_instant as drawn from access.clock`.execute(kysely);
  return firstRow(rows);
}

/** How many revisions are kept, for servers that have read one of them. */
const MAX_REVISIONS = 10_000;

/**
 * Every change of partners, keys, grants or the catalog makes a new revision, which servers poll. Must be its first
 * statement on `access`: it locks `access.clock`, so that nothing read there afterwards is outdated.
 */
export async function bumpRevision({ kysely }: Database): Promise<void> {
  await sql`update access.clock set version = version + 1, token = ${randomUUID()}`.execute(kysely);
  await sql`insert into access.revisions (version, token) select version, token from access.clock where true
    on conflict (version) do update set token = excluded.token`.execute(kysely);
  await sql`delete from access.revisions
    where version <= (select version from access.clock) - ${sql.lit(MAX_REVISIONS)}`.execute(kysely);
}
