import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Scope } from '../access/scope.ts';
import { sendResponse } from '../http/response-cache.ts';
import { unauthorized } from '../http/errors.ts';
import { DEFAULT_LIMIT } from '../http/parameters.ts';
import { formatTimestamp } from '../timestamp.ts';
import type { Services } from '../services.ts';
import { encodeCursor, type CursorBinding } from './cursor.ts';
import type { Listing } from './pages.ts';
import { readFirstPage, readNextPage, type PageQuestion } from './snapshot.ts';
import { readSince, type Since } from './updated-since.ts';

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
  const question: PageQuestion = {
    partner,
    listing: listingOf(filters, since),
    limit,
    now: formatTimestamp(services.clock()),
    after: position?.after ?? null,
  };
  const { data, shown, last_key, hasMore, changes_at, revision, watermark } =
    position === null
      ? await readFirstPage(services.database, question, since, () => getNewestScope(services, partner.id))
      : await readNextPage(services.database, question, position.watermark);
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

async function getNewestScope({ directory }: Services, partnerId: number): Promise<Scope> {
  const partner = await directory.refresh(partnerId);
  if (partner === null) throw unauthorized();
  return partner.scope;
}
