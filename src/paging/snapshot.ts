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

/** Finished texts, with the watermark of their walk and the revision to keep them under: null if they are not to be kept. */
export type Page = Omit<PageRow, 'revision'> & { readonly watermark: string; readonly revision: Revision | null };

/**
 * Reads the first page of a walk together with its watermark: one millisecond after the last event that the rows reflect. It
 * must not pass one that they do not, or a sync would lose it; ARCHITECTURE says why it does not.
 *
 * - If the grants have changed since the scope was read, it is read anew, once: who grants without a pause would else let
 *   no page be read. The watermark is then that of the scope, or of the publication that was seen before it.
 * - SQLite reads its two files one after the other, and a commit may come between: if `catalog` and `access` name different
 *   last publications, the page is read again. If they still do, a process died between its two commits.
 *
 * @param since what the `updated_since` of the request means; null without one.
 * @param refreshScope gives the partner's scope as it is now, where the one that came with the request has become stale.
 */
export async function readFirstPage(
  database: OpenDatabase,
  question: PageQuestion,
  since: Since | null,
  refreshScope: () => Promise<Scope>,
): Promise<Page> {
  if (since !== null) {
    const { seen, from } = since;
    // The most frequent question of a client that keeps in step is answered without looking for anything.
    const revision = keepingRevision(seen);
    if (revision !== null && lastEvent(seen) < from) {
      const nothing = { shown: 0, data: null, last_key: null, changes_at: null, hasMore: false };
      return { ...seen, ...nothing, revision, watermark: watermarkOf(seen) };
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
      if (isWhole) return { ...row, revision: keepingRevision(row), watermark: watermarkOf(row) };
    } else if (beforeRefresh === null || row.grants_changed_at < scope.changedAt) {
      beforeRefresh = row.published_at;
      scope = await refreshScope();
    } else if (isWhole) {
      const reflected = { published_at: beforeRefresh, grants_changed_at: scope.changedAt };
      return { ...row, revision: null, watermark: watermarkOf(reflected) };
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
  return { ...row, revision: keepingRevision(row), watermark };
}

function read(database: OpenDatabase, { partner, listing, ...question }: PageQuestion, scope: Scope): Promise<PageRow> {
  return readPage(database, listing, { ...question, scope, partnerId: partner.id });
}
