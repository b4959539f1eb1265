import { sql, type Compilable, type Expression, type RawBuilder } from 'kysely';
import type { Partner, Scope } from '../access/scope.ts';
import type { Database } from '../database/database.ts';
import { EPOCH, nextMillisecond } from '../instant.ts';

/** Rows and the watermark of the moment in which they were read. */
export interface Snapshot<Row> {
  rows: Row[];
  /** One millisecond after the last event that the rows reflect. */
  watermark: string;
}

/** What a statement saw of the series of publications and grants. */
interface SeenEvents {
  /** The last publication in the catalog; the beginning of 1970 before the first. */
  published_at: string;
  /** The last publication that `access` knows of. */
  announced_at: string;
  /** The last change of the partner's grants; the beginning of 1970 before the first. */
  grants_changed_at: string;
}

/** What the first page of a walk is asked with. */
export interface FirstPage<Row extends { key: string }> {
  partner: Partner;
  /** The `updated_since` of the request; null without one. */
  since: string | null;
  queryFor: (scope: Scope) => PageQuery<Row>;
  /** The partner's scope as it is now, where the one that came with the request has become stale. */
  refreshScope: () => Promise<Scope>;
}

export type PageQuery<Row extends { key: string }> = Expression<Row> & Compilable;

/** Each attempt that fails had a publication or a change of grants within its microseconds. */
const MOST_ATTEMPTS = 10;

/**
 * Reads the first page of a walk together with its watermark, in one statement.
 *
 * The watermark must not pass an event that the rows do not reflect, or a sync would lose it:
 * - The scope was read before. Where the partner's grants have changed since, it is read anew.
 * - SQLite reads its two files one after the other, and a commit may come between. Where the
 *   last publication in `catalog` is not the one that `access` announces, the page is read
 *   again. If both are as they were, it is no race: the process that published died between
 *   its two commits, or the files were restored from different moments. Then what was read
 *   again is whole: a publication draws its instant under the lock that grants take, so every
 *   grant before it was in `access` by then; and `catalog` is committed first, so every
 *   publication that `access` announces was in it.
 */
export async function readFirstPage<Row extends { key: string }>(
  database: Database,
  { partner, since, queryFor, refreshScope }: FirstPage<Row>,
): Promise<Snapshot<Row>> {
  if (since !== null) {
    const seen = await readEvents(database, partner.id);
    // The most frequent question of a client that keeps in step is answered without looking for anything.
    if (seen.published_at === seen.announced_at && lastEvent(seen) < since) {
      return { rows: [], watermark: watermarkOf(seen) };
    }
  }
  let scope = partner.scope;
  let before: SeenEvents | null = null;
  for (let attempt = 0; attempt < MOST_ATTEMPTS; attempt += 1) {
    const { rows, seen } = await readWithEvents(database, partner.id, queryFor(scope));
    const isWhole =
      seen.published_at === seen.announced_at ||
      (before?.published_at === seen.published_at && before.announced_at === seen.announced_at);
    before = seen;
    if (seen.grants_changed_at !== scope.changedAt) scope = await refreshScope();
    else if (isWhole) return { rows, watermark: watermarkOf(seen) };
  }
  throw new Error(
    `no consistent page after ${MOST_ATTEMPTS} attempts: publications or grants follow each other too fast`,
  );
}

function lastEvent({ published_at, grants_changed_at }: SeenEvents): string {
  return published_at > grants_changed_at ? published_at : grants_changed_at;
}

function watermarkOf(seen: SeenEvents): string {
  const last = lastEvent(seen);
  return last === EPOCH ? EPOCH : nextMillisecond(last);
}

/** Three looks into an index each. */
function eventsOf(partnerId: number): RawBuilder<SeenEvents> {
  return sql<SeenEvents>`select
    coalesce((select max(instant) from catalog.publications), ${EPOCH}) as published_at,
    (select last_publication from access.clock) as announced_at,
    coalesce((select grants_changed_at from access.partners where id = ${partnerId}), ${EPOCH}) as grants_changed_at`;
}

async function readEvents({ kysely }: Database, partnerId: number): Promise<SeenEvents> {
  const { rows } = await eventsOf(partnerId).execute(kysely);
  const [seen] = rows;
  if (seen === undefined) throw new Error('a statement that always gives a row gave none');
  return seen;
}

async function readWithEvents<Row extends { key: string }>(
  { kysely }: Database,
  partnerId: number,
  query: PageQuery<Row>,
): Promise<{ rows: Row[]; seen: SeenEvents }> {
  const result = await sql<SeenEvents & Row>`
    select seen.*, page.* from (${eventsOf(partnerId)}) as seen left join ${query} as page on true
    order by page.key`.execute(kysely);
  const [first] = result.rows;
  if (first === undefined) throw new Error('a statement that always gives a row gave none');
  // The left join gives one row of nulls where the page is empty.
  const rows = (first.key as string | null) === null ? [] : result.rows;
  return { rows, seen: first };
}

/** Reads a later page of a walk: its watermark is that of the first. */
export async function readNextPage<Row extends { key: string }>(
  { kysely }: Database,
  query: PageQuery<Row>,
): Promise<Row[]> {
  const { rows } = await sql<Row>`select page.* from ${query} as page order by page.key`.execute(kysely);
  return rows;
}
