import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Scope } from '../access/scope.ts';
import { unauthorized } from '../http/errors.ts';
import { DEFAULT_LIMIT } from '../http/parameters.ts';
import { formatInstant } from '../instant.ts';
import type { Services } from '../services.ts';
import { encodeCursor } from './cursor.ts';
import { readFirstPage, readNextPage, type PageQuery, type Snapshot } from './snapshot.ts';

/** The part of a list that one statement reads. */
export interface PageWindow {
  /** Records whose key comes after this one; null for the first page. */
  after: string | null;
  /** One more than the page holds: whether it is there tells whether there is a next page. */
  rows: number;
}

export interface ListAnswer<Filters extends object, Row extends { key: string }> {
  /** The query for one page, ordered and cut by the window, as far as the scope lets it see. */
  query(scope: Scope, filters: Filters, window: PageWindow): PageQuery<Row>;
  /** The served text of one record; `now` decides what depends on the moment. */
  render(row: Row, now: string): string;
}

/** Answers a list: reads one page, joins the finished texts, and says how to go on. */
export async function answerList<Filters extends object, Row extends { key: string }>(
  services: Services,
  request: FastifyRequest,
  reply: FastifyReply,
  list: ListAnswer<Filters, Row>,
): Promise<FastifyReply> {
  const { partner, position, cursorBinding } = request;
  if (cursorBinding === null) throw new Error(`the route ${request.routeOptions.url} takes no cursor`);
  const { limit = DEFAULT_LIMIT } = request.parameters as { limit?: number };
  const filters = cursorBinding.filters as Filters;

  const window = { after: position?.after ?? null, rows: limit + 1 };
  const queryFor = (scope: Scope): PageQuery<Row> => list.query(scope, filters, window);
  const { rows, watermark }: Snapshot<Row> =
    position === null
      ? await readFirstPage(services.database, {
          partner,
          since: (filters as { updated_since?: string }).updated_since ?? null,
          queryFor,
          refreshScope: () => getNewestScope(services, partner.id),
        })
      : { rows: await readNextPage(services.database, queryFor(partner.scope)), watermark: position.watermark };

  const shown = rows.slice(0, limit);
  const last = shown.at(-1);
  const nextCursor =
    rows.length > limit && last !== undefined
      ? encodeCursor(services.cursorSecret, cursorBinding, { after: last.key, watermark })
      : null;
  const now = formatInstant(services.clock());
  const data = shown.map((row) => list.render(row, now)).join(',');
  return reply
    .header('X-Sync-Watermark', watermark)
    .type('application/json; charset=utf-8')
    .send(`{"data":[${data}],"meta":${JSON.stringify({ next_cursor: nextCursor, limit })}}`);
}

async function getNewestScope({ directory }: Services, partnerId: number): Promise<Scope> {
  const partner = await directory.refresh(partnerId);
  if (partner === null) throw unauthorized();
  return partner.scope;
}
