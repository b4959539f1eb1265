import type { Partner, Scope } from '../access/scope.ts';
import type { OpenDatabase } from '../database/database.ts';
import type { Revision } from '../database/revision.ts';
import { keepingRevision, lastEvent, watermarkOf, type SeenEvents } from './events.ts';
import { MAX_ATTEMPTS, readPage, type Listing, type PageRow } from './pages.ts';
import type { Since } from './updated-since.ts';

/** What a page is asked with. */
export interface PageQuestion {
  readonly partner: Partner;
  readonly listing: Listing;
  readonly limit: number;
  /** The moment of the request. */
  readonly now: string;
  /** The key that the page begins behind; null for the first page. */
  readonly after: string | null;
}

/** Finished texts, and what was true when they were read. */
export interface Page {
  /** The texts, joined with commas. */
  readonly data: string;
  /** How many there are. */
  readonly rows: number;
  /** The key of the last record; null on an empty page. */
  readonly lastKey: string | null;
  readonly hasMore: boolean;
  readonly changesAt: string | null;
  /** The revision to keep the page under; null where it is not to be kept. */
  readonly revision: Revision | null;
}

/** A page with the watermark of the moment in which it was read. */
export interface FirstPage extends Page {
  /** One millisecond after the last event that the rows reflect. */
  readonly watermark: string;
}

/**
 * Reads the first page of a walk together with its watermark, in one statement.
 *
 * The watermark must not pass an event that the rows do not reflect, or a sync would lose it:
 * - The scope was read before. Where the partner's grants have changed since, it is read anew, once: who grants
 *   without a pause would else let no page be read. What such a page shows is all up to the scope that it was read
 *   with, or to the publication that was seen before that, and its watermark is one millisecond after the later of these.
 *   Every change of grants that is not in it came after both, since all instants are drawn in the order of the commits.
 * - SQLite reads its two files one after the other, and a commit may come between. Where the
 *   last publication in `catalog` is not the one that `access` announces, the page is read
 *   again. If both are as they were, it is no race: the process that published died between
 *   its two commits, or the files were restored from different moments. Then what was read
 *   again is whole: a publication draws its instant under the lock that grants take, so every
 *   grant before it was in `access` by then; and `catalog` is committed first, so every
 *   publication that `access` announces was in it.
 *
 * @param since what the `updated_since` of the request means; null without one.
 * @param refreshScope gives the partner's scope as it is now, where the one that came with the request has become stale.
 */
export async function readFirstPage(
  database: OpenDatabase,
  question: PageQuestion,
  since: Since | null,
  refreshScope: () => Promise<Scope>,
): Promise<FirstPage> {
  if (since !== null) {
    const { seen, from } = since;
    // The most frequent question of a client that keeps in step is answered without looking for anything.
    if (seen.published_at === seen.announced_at && lastEvent(seen) < from) {
      const revision = keepingRevision(seen);
      return {
        data: '',
        rows: 0,
        lastKey: null,
        hasMore: false,
        changesAt: null,
        revision,
        watermark: watermarkOf(seen),
      };
    }
  }
  let { scope } = question.partner;
  let before: SeenEvents | null = null;
  /** The last publication that was seen before the scope was read anew. */
  let beforeRefresh: string | null = null;
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
    const row = await read(database, question, scope);
    const isWhole =
      row.published_at === row.announced_at ||
      (before?.published_at === row.published_at && before.announced_at === row.announced_at);
    if (row.grants_changed_at < scope.changedAt) database.distrustReplicas();
    if (row.grants_changed_at === scope.changedAt) {
      if (isWhole) return { ...toPage(row), watermark: watermarkOf(row) };
    } else if (beforeRefresh === null || row.grants_changed_at < scope.changedAt) {
      beforeRefresh = row.published_at;
      scope = await refreshScope();
    } else if (isWhole) {
      const reflected = { published_at: beforeRefresh, grants_changed_at: scope.changedAt };
      return { ...toPage(row), revision: null, watermark: watermarkOf(reflected) };
    }
    before = row;
  }
  throw new Error(`no consistent page after ${MAX_ATTEMPTS} attempts: publications follow each other too fast`);
}

/**
 * Reads a later page of a walk.
 *
 * @param watermark that of the first page: a replica that does not have what the first page saw would leave changes
 *   out that the client takes for given.
 */
export async function readNextPage(database: OpenDatabase, question: PageQuestion, watermark: string): Promise<Page> {
  const { scope } = question.partner;
  let row = await read(database, question, scope);
  if (watermarkOf(row) < watermark) {
    database.distrustReplicas();
    row = await read(database, question, scope);
  }
  return toPage(row);
}

function read(database: OpenDatabase, { partner, listing, ...question }: PageQuestion, scope: Scope): Promise<PageRow> {
  return readPage(database, listing, { ...question, scope, partnerId: partner.id });
}

function toPage(row: PageRow): Page {
  return {
    data: row.data ?? '',
    rows: row.shown,
    lastKey: row.last_key,
    hasMore: row.hasMore,
    changesAt: row.changes_at,
    revision: keepingRevision(row),
  };
}
