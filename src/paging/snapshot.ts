import type { Partner, Scope } from '../access/scope.ts';
import type { OpenDatabase } from '../database/database.ts';
import type { Revision } from '../database/revision.ts';
import { keepingRevision, lastEvent, watermarkOf, type SeenEvents } from './events.ts';
import { MAX_ATTEMPTS, readPage, type Listing, type PageRow } from './pages.ts';
import type { Since } from './updated-since.ts';

/** The parameters of a page request. */
export interface PageQuestion {
  readonly partner: Partner;
  readonly listing: Listing;
  readonly limit: number;
  /** The time of the request. */
  readonly now: string;
  /** The key after which the page begins; null for the first page. */
  readonly after: string | null;
}

/**
 * A page of rendered texts, with the watermark of its listing and the revision to cache it under; null if it must not
 * be cached.
 */
export type Page = Omit<PageRow, 'revision'> & { readonly watermark: string; readonly revision: Revision | null };

/**
 * Reads the first page of a listing together with its watermark: one millisecond after the last event that the rows
 * reflect. The watermark must not pass an event that they do not reflect, or a sync would miss it; ARCHITECTURE
 * explains why it does not.
 *
 * - If the grants have changed since the scope was read, the scope is read again, but only once: otherwise continuous
 *   grant changes would prevent any page from being read. The watermark is then that of the scope, or of the last
 *   release seen before it was read again.
 * - SQLite reads its two files one after the other, and a commit can happen in between. If `catalog` and `access` name
 *   different last releases, the page is read again. If they still do, a process died between its two commits.
 *
 * @param since the meaning of the request's `updated_since`; null without one.
 * @param refreshScope returns the partner's current scope, for when the one that came with the request is stale.
 */
export async function readFirstPage(
  database: OpenDatabase,
  question: PageQuestion,
  since: Since | null,
  refreshScope: () => Promise<Scope>,
): Promise<Page> {
  if (since !== null) {
    const { seen, from } = since;
    // Fast path for the most frequent request of a syncing client: nothing has changed, so nothing is searched.
    const revision = keepingRevision(seen);
    if (revision !== null && lastEvent(seen) < from) {
      const nothing = { shown: 0, data: null, last_key: null, changes_at: null, hasMore: false };
      return { ...seen, ...nothing, revision, watermark: watermarkOf(seen) };
    }
  }
  let { scope } = question.partner;
  let before: SeenEvents | null = null;
  /** The last release seen before the scope was read again. */
  let beforeRefresh: string | null = null;
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
    const row = await read(database, question, scope);
    const isWhole =
      row.published_at === row.announced_at ||
      (before?.published_at === row.published_at && before.announced_at === row.announced_at);
    if (row.grants_changed_at < scope.changedAt) database.bypassReplicas();
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
 * Reads a later page of a listing.
 *
 * @param watermark that of the first page. A replica that lacks events seen by the first page would omit changes that
 *   the client assumes it has.
 */
export async function readNextPage(database: OpenDatabase, question: PageQuestion, watermark: string): Promise<Page> {
  const { scope } = question.partner;
  let row = await read(database, question, scope);
  if (watermarkOf(row) < watermark) {
    database.bypassReplicas();
    row = await read(database, question, scope);
  }
  return { ...row, revision: keepingRevision(row), watermark };
}

function read(database: OpenDatabase, { partner, listing, ...question }: PageQuestion, scope: Scope): Promise<PageRow> {
  return readPage(database, listing, { ...question, scope, partnerId: partner.id });
}
