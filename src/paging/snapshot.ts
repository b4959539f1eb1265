import { sql, type Compilable, type Expression } from 'kysely';
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
  /** The last publication in the catalog. */
  published_at: string | null;
  /** The last publication that `access` knows of. */
  announced_at: string;
  grants_changed_at: string | null;
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
  partner: Partner,
  queryFor: (scope: Scope) => PageQuery<Row>,
  refreshScope: () => Promise<Scope>,
): Promise<Snapshot<Row>> {
  let scope = partner.scope;
  let before: SeenEvents | null = null;
  for (let attempt = 0; attempt < MOST_ATTEMPTS; attempt += 1) {
    const { rows, seen } = await readWithEvents(database, partner.id, queryFor(scope));
    const published = seen.published_at ?? EPOCH;
    const isWhole =
      published === seen.announced_at ||
      (before?.published_at === seen.published_at && before.announced_at === seen.announced_at);
    before = seen;
    if (seen.grants_changed_at !== scope.changedAt) {
      scope = await refreshScope();
    } else if (isWhole) {
      const last = published > scope.changedAt ? published : scope.changedAt;
      return { rows, watermark: last === EPOCH ? EPOCH : nextMillisecond(last) };
    }
  }
  throw new Error(
    `no consistent page after ${MOST_ATTEMPTS} attempts: publications or grants follow each other too fast`,
  );
}

async function readWithEvents<Row extends { key: string }>(
  { kysely }: Database,
  partnerId: number,
  query: PageQuery<Row>,
): Promise<{ rows: Row[]; seen: SeenEvents }> {
  const result = await sql<SeenEvents & Row>`
    select seen.*, page.*
    from (select
      (select max(instant) from catalog.publications) as published_at,
      (select last_publication from access.clock) as announced_at,
      (select grants_changed_at from access.partners where id = ${partnerId}) as grants_changed_at) as seen
    left join ${query} as page on true
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
