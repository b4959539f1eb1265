import { sql, type RawBuilder } from 'kysely';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { sendAnswer } from '../http/answer-cache.ts';
import { notFound } from '../http/errors.ts';
import { formatInstant } from '../instant.ts';
import type { SlotValues } from '../database/statement.ts';
import type { Services } from '../services.ts';
import type { Condition } from '../index/evaluate.ts';
import type { RecordIndex } from '../index/record-index.ts';
import { keepingRevision, seenEvents, type SeenEvents } from './events.ts';
import { MAX_ATTEMPTS } from './pages.ts';

/** A statement that gives one record as its finished text, or nothing. */
export interface RecordQuery {
  /** All that decides the text of the statement. */
  readonly shape: string;
  /** Gives the columns of {@link FoundRecord}. May take the slot `now`. */
  readonly build: () => RawBuilder<FoundRecord>;
  readonly values: SlotValues;
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
  { shape, build, values }: RecordQuery,
): Promise<FastifyReply> {
  const slots = { ...values, partner_id: request.partner.id, now: formatInstant(clock()) };
  const [found] = await database.run(shape, () => recordStatement(build()), slots);
  if (found === undefined) throw notFound();
  return sendAnswer(request, reply, {
    body: found.text,
    rows: 1,
    watermark: null,
    revision: keepingRevision(found),
    goodUntilMs: found.changes_at === null ? Infinity : Date.parse(found.changes_at),
  });
}

/** Answers `{total}`: how many records of an index meet the conditions. */
export async function answerCount(
  { database }: Services,
  request: FastifyRequest,
  reply: FastifyReply,
  { index, conditions }: { index: RecordIndex; conditions: readonly Condition[] },
): Promise<FastifyReply> {
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
    const { catalog, total } = await index.count(conditions);
    const [seen] = await database.run('seen events', () => seenEvents, { partner_id: request.partner.id });
    if (seen?.catalog === catalog) {
      const kept = { body: JSON.stringify({ total }), rows: 0, watermark: null, goodUntilMs: Infinity };
      return sendAnswer(request, reply, { ...kept, revision: keepingRevision(seen) });
    }
    index.forget();
    if (attempt > 0) database.distrustReplicas();
  }
  throw new Error(`no count in one state after ${MAX_ATTEMPTS} attempts: publications follow each other too fast`);
}

/** What is found, with the events; no row if nothing is found. */
export function recordStatement(found: RawBuilder<FoundRecord>): RawBuilder<FoundRecord & SeenEvents> {
  return sql<
    FoundRecord & SeenEvents
  >`select seen.*, found.* from (${found}) as found cross join (${seenEvents}) as seen`;
}
