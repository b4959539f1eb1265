import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Partner, Scope } from '../access/scope.ts';
import type { OpenDatabase } from '../database/database.ts';
import type { Revision } from '../database/revision.ts';
import { DEFAULT_LIMIT } from '../http/request/parameters.ts';
import { unauthorized } from '../http/response/errors.ts';
import { sendResponse } from '../http/response/response-cache.ts';
import { MAX_ATTEMPTS } from '../index/one-state.ts';
import type { Services } from '../services.ts';
import { formatTimestamp } from '../timestamp.ts';
import { encodeCursor, type CursorBinding } from './cursor.ts';
import { keepingRevision, lastEvent, readSince, watermarkOf, type SeenEvents, type Since } from './events.ts';
import { readPage, type Listing, type PageRow } from './pages.ts';

/** Responds with one page of a list and the cursor of the next. */
export async function sendList(
  services: Services,
  request: FastifyRequest,
  reply: FastifyReply,
  listingOf: (filters: CursorBinding['filters'], since: Since | null) => Listing,
): Promise<FastifyReply> {
  const { partner, position, cursorBinding } = request;
  if (cursorBinding === null) throw new Error(`the route ${request.routeOptions.url} takes no cursor`);
  const { limit = DEFAULT_LIMIT } = request.parameters as { limit?: number };
  // The parsed filters, with `updated_since` unchanged: cursors are bound to these.
  const { filters } = cursorBinding;
  const { updated_since: updatedSince } = filters as { updated_since?: string };
  const since = await readSince(services.database, partner.id, updatedSince, position?.watermark ?? null);
  const listing = listingOf(filters, since);
  const page = { limit, after: position?.after ?? null, partnerId: partner.id, now: formatTimestamp(services.clock()) };
  const read = (scope: Scope): Promise<PageRow> => readPage(services.database, listing, { ...page, scope });
  const { data, shown, last_key, hasMore, changes_at, revision, watermark } =
    position === null
      ? await readFirstPage(services, partner, since, read)
      : await readNextPage(services.database, () => read(partner.scope), position.watermark);
  const nextCursor =
    hasMore && last_key !== null
      ? encodeCursor(services.cursorSecret, cursorBinding, { after: last_key, watermark })
      : null;
  return sendResponse(request, reply, {
    body: `{"data":[${data ?? ''}],"meta":${JSON.stringify({ next_cursor: nextCursor, limit })}}`,
    rows: shown,
    watermark,
    revision,
    goodUntilMs: changes_at === null ? Infinity : Date.parse(changes_at),
  });
}

/**
 * A page of rendered texts, with the watermark of its listing and the revision to cache it under; null if it must not
 * be cached.
 */
type Page = Omit<PageRow, 'revision'> & { readonly watermark: string; readonly revision: Revision | null };

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
 */
async function readFirstPage(
  { database, directory }: Services,
  partner: Partner,
  since: Since | null,
  read: (scope: Scope) => Promise<PageRow>,
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
  let { scope } = partner;
  let before: SeenEvents | null = null;
  /** The last release seen before the scope was read again. */
  let beforeRefresh: string | null = null;
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
    const row = await read(scope);
    const isWhole =
      row.published_at === row.announced_at ||
      (before?.published_at === row.published_at && before.announced_at === row.announced_at);
    if (row.grants_changed_at < scope.changedAt) database.bypassReplicas();
    if (row.grants_changed_at === scope.changedAt) {
      if (isWhole) return { ...row, revision: keepingRevision(row), watermark: watermarkOf(row) };
    } else if (beforeRefresh === null || row.grants_changed_at < scope.changedAt) {
      beforeRefresh = row.published_at;
      const refreshed = await directory.refresh(partner.id);
      if (refreshed === null) throw unauthorized();
      scope = refreshed.scope;
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
async function readNextPage(database: OpenDatabase, read: () => Promise<PageRow>, watermark: string): Promise<Page> {
  let row = await read();
  if (watermarkOf(row) < watermark) {
    database.bypassReplicas();
    row = await read();
  }
  return { ...row, revision: keepingRevision(row), watermark };
}
