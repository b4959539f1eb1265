import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Scope } from '../access/scope.ts';
import { sendAnswer } from '../http/answer-cache.ts';
import { unauthorized } from '../http/errors.ts';
import { DEFAULT_LIMIT } from '../http/parameters.ts';
import { formatInstant } from '../instant.ts';
import type { Services } from '../services.ts';
import { clientOf } from './asking.ts';
import { encodeCursor } from './cursor.ts';
import type { ListParts, PartPlace } from './list-parts.ts';
import type { ListedRecords } from './page-statement.ts';
import { readFirstPage, readNextPage, type PageQuestion, type Walk } from './snapshot.ts';
import { filtersFrom, readSince } from './updated-since.ts';

/** Where a walk goes on. */
export interface WalkPlace extends PartPlace {
  /** Asks for a plan that depends on nothing read before. */
  readonly isFresh: boolean;
}

export interface ListAnswer<Filters extends object> {
  readonly records: ListedRecords;
  /** None for a list that is short. */
  readonly parts?: ListParts;
  /**
   * The walk of one page, or of a part of it, as far as the scope lets it see.
   */
  walk(scope: Scope, filters: Filters, place: WalkPlace): Walk | Promise<Walk>;
}

/** Answers a list: reads one page of finished texts, and says how to go on. */
export async function answerList<Filters extends object>(
  services: Services,
  request: FastifyRequest,
  reply: FastifyReply,
  list: ListAnswer<Filters>,
): Promise<FastifyReply> {
  const { partner, position, cursorBinding } = request;
  if (cursorBinding === null) throw new Error(`the route ${request.routeOptions.url} takes no cursor`);
  const { limit = DEFAULT_LIMIT } = request.parameters as { limit?: number };
  // As the client wrote them: cursors are bound to these.
  const asked = cursorBinding.filters as Filters & { updated_since?: string };
  const since =
    asked.updated_since === undefined
      ? null
      : await readSince(services.database, partner.id, asked.updated_since, position?.watermark ?? null);
  const filters = filtersFrom<Filters>(asked, since);
  const question: PageQuestion = {
    partner,
    records: list.records,
    limit,
    now: formatInstant(services.clock()),
    after: position?.after ?? null,
    parts: list.parts ?? null,
    asking: clientOf(request),
    walkFor: (scope, place, isFresh) => list.walk(scope, filters, { ...place, isFresh }),
  };
  const { data, rows, lastKey, hasMore, changesAt, revision, watermark } =
    position === null
      ? await readFirstPage(services.database, question, since, () => getNewestScope(services, partner.id))
      : { ...(await readNextPage(services.database, question, position.watermark)), watermark: position.watermark };
  const nextCursor =
    hasMore && lastKey !== null
      ? encodeCursor(services.cursorSecret, cursorBinding, { after: lastKey, watermark })
      : null;
  return sendAnswer(request, reply, {
    body: `{"data":[${data}],"meta":${JSON.stringify({ next_cursor: nextCursor, limit })}}`,
    rows,
    watermark,
    revision,
    goodUntilMs: changesAt === null ? Infinity : Date.parse(changesAt),
  });
}

async function getNewestScope({ directory }: Services, partnerId: number): Promise<Scope> {
  const partner = await directory.refresh(partnerId);
  if (partner === null) throw unauthorized();
  return partner.scope;
}
