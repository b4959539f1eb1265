import { sql, type RawBuilder } from 'kysely';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { sendAnswer } from '../http/answer-cache.ts';
import { notFound } from '../http/errors.ts';
import { formatInstant } from '../instant.ts';
import type { OpenDatabase } from '../database/database.ts';
import type { SlotValues } from '../database/statement.ts';
import type { Services } from '../services.ts';
import { clientOf, type Asking } from './asking.ts';
import { keepingRevision, readAsPlanned, seenEvents, type Planned, type SeenEvents } from './events.ts';
import type { ListParts, PartPlace } from './list-parts.ts';

/** A statement that gives one record as its finished text, or nothing. */
export interface RecordQuery {
  /** All that decides the text of the statement. */
  readonly shape: string;
  /** Gives the columns of {@link FoundRecord}. May take the slot `now`. */
  readonly build: () => RawBuilder<FoundRecord>;
  readonly values: SlotValues;
}

/** A statement that counts: gives one row with `total`. */
export interface CountQuery extends Planned {
  readonly shape: string;
  readonly build: () => RawBuilder<{ total: number }>;
  readonly values: SlotValues;
  /** The last id that it counts, as it was asked to; null where it counts all. */
  readonly upto: string | null;
}

export interface CountAnswer {
  readonly parts: ListParts;
  query(place: PartPlace, isFresh: boolean): Promise<CountQuery>;
}

export interface FoundRecord {
  readonly text: string;
  /** The next instant at which the text changes by itself; null for never. */
  readonly changes_at: string | null;
}

/** Answers one record, or 404. */
export async function answerRecord(
  { database, clock }: Services,
  request: FastifyRequest,
  reply: FastifyReply,
  query: RecordQuery | null,
): Promise<FastifyReply> {
  const found =
    query === null ? null : await readWithEvents(database, request.partner.id, formatInstant(clock()), query);
  if (found === null) throw notFound();
  const { text, changes_at: changesAt } = found;
  return sendAnswer(request, reply, {
    body: text,
    rows: 1,
    watermark: null,
    revision: keepingRevision(found),
    goodUntilMs: changesAt === null ? Infinity : Date.parse(changesAt),
  });
}

/** Answers `{total}`. */
export async function answerCount(
  services: Services,
  request: FastifyRequest,
  reply: FastifyReply,
  count: CountAnswer,
): Promise<FastifyReply> {
  const found = await countParts(services, request.partner.id, count, clientOf(request));
  const { total } = found;
  return sendAnswer(request, reply, {
    body: JSON.stringify({ total }),
    rows: 0,
    watermark: null,
    revision: keepingRevision(found),
    goodUntilMs: Infinity,
  });
}

/** Counts part by part, and begins anew where a publication comes in between: a total is of one state. */
async function countParts(
  services: Services,
  partnerId: number,
  count: CountAnswer,
  asking: Asking,
): Promise<{ total: number } & SeenEvents> {
  const walk = await count.parts.begin(null, asking);
  let counted = await countPart(services, partnerId, count, walk.place);
  count.parts.notice(counted.published_at);
  while (counted.upto !== null) {
    await walk.goOn();
    const next = await countPart(services, partnerId, count, walk.place);
    if (next.published_at === counted.published_at) {
      counted = { ...counted, total: counted.total + next.total, upto: next.upto };
    } else {
      walk.beginAgain();
      counted = await countPart(services, partnerId, count, walk.place);
    }
  }
  return counted;
}

function countPart(services: Services, partnerId: number, count: CountAnswer, place: PartPlace) {
  return readAsPlanned(services.database, async (isFresh) => {
    const query = await count.query(place, isFresh);
    const row = await readWithEvents(services.database, partnerId, formatInstant(services.clock()), query);
    if (row === null) throw new Error('a statement that always gives a row gave none');
    return { row: { ...row, upto: query.upto }, asOf: query.asOf };
  });
}

/** Reads what a statement finds, together with the revision to keep it under. */
export async function readWithEvents<Row extends object>(
  database: OpenDatabase,
  partnerId: number,
  now: string,
  { shape, build, values }: { shape: string; build: () => RawBuilder<Row>; values: SlotValues },
): Promise<(Row & SeenEvents) | null> {
  const [row] = await database.run<Row & SeenEvents>(
    shape,
    () => sql<Row & SeenEvents>`select seen.*, found.* from (${build()}) as found cross join (${seenEvents}) as seen`,
    { ...values, partner_id: partnerId, now },
  );
  return row ?? null;
}
