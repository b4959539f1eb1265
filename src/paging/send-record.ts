import { sql, type RawBuilder } from 'kysely';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { sendResponse } from '../http/response-cache.ts';
import { notFound } from '../http/errors.ts';
import { formatTimestamp } from '../timestamp.ts';
import type { ParameterValues } from '../database/statement.ts';
import type { Services } from '../services.ts';
import type { Condition } from '../index/evaluate.ts';
import type { RecordIndex } from '../index/record-index.ts';
import { keepingRevision, seenEvents, type SeenEvents } from './events.ts';
import { MAX_ATTEMPTS } from './pages.ts';

/** A query that returns one record as rendered text, or no row. */
export interface RecordQuery {
  /** The statement key: determines the SQL text. */
  readonly statementKey: string;
  /** Builds a statement with the columns of {@link FoundRecord}. Can use the parameter `now`. */
  readonly build: () => RawBuilder<FoundRecord>;
  readonly values: ParameterValues;
}

export interface FoundRecord {
  readonly text: string;
  /** When the text next changes by itself; null for never. */
  readonly changes_at: string | null;
}

/** Responds with one record, or 404. */
export async function sendRecord(
  { database, clock }: Services,
  request: FastifyRequest,
  reply: FastifyReply,
  { statementKey, build, values }: RecordQuery,
): Promise<FastifyReply> {
  const parameters = { ...values, partner_id: request.partner.id, now: formatTimestamp(clock()) };
  const [found] = await database.run(statementKey, () => recordStatement(build()), parameters);
  if (found === undefined) throw notFound();
  return sendResponse(request, reply, {
    body: found.text,
    rows: 1,
    watermark: null,
    revision: keepingRevision(found),
    goodUntilMs: found.changes_at === null ? Infinity : Date.parse(found.changes_at),
  });
}

/** Responds with `{total}`: the number of records in an index that meet the conditions. */
export async function sendCount(
  { database }: Services,
  request: FastifyRequest,
  reply: FastifyReply,
  { index, conditions }: { index: RecordIndex; conditions: readonly Condition[] },
): Promise<FastifyReply> {
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
    const { catalog, total } = await index.count(conditions);
    const [seen] = await database.run('seen events', () => seenEvents, { partner_id: request.partner.id });
    if (seen?.catalog === catalog) {
      const rendered = { body: JSON.stringify({ total }), rows: 0, watermark: null, goodUntilMs: Infinity };
      return sendResponse(request, reply, { ...rendered, revision: keepingRevision(seen) });
    }
    index.forget();
    if (attempt > 0) database.bypassReplicas();
  }
  throw new Error(`no count in one state after ${MAX_ATTEMPTS} attempts: publications follow each other too fast`);
}

/** The found record with the events; no row if nothing is found. */
export function recordStatement(found: RawBuilder<FoundRecord>): RawBuilder<FoundRecord & SeenEvents> {
  return sql<
    FoundRecord & SeenEvents
  >`select seen.*, found.* from (${found}) as found cross join (${seenEvents}) as seen`;
}
