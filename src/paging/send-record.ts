import { sql, type RawBuilder } from 'kysely';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { sendResponse } from '../http/response/response-cache.ts';
import { notFound } from '../http/response/errors.ts';
import { formatTimestamp } from '../timestamp.ts';
import type { ParameterValues } from '../database/database.ts';
import { firstRow } from '../database/statement.ts';
import type { Services } from '../services.ts';
import type { Condition } from '../index/conditions.ts';
import { inOneState, OtherStateError } from '../index/one-state.ts';
import type { RecordIndex } from '../index/record-index.ts';
import { keepingRevision, seenEvents, type SeenEvents } from './events.ts';

/** A query that returns one record as rendered text, or no row. */
export interface RecordQuery {
  /** The statement key: determines the SQL text. */
  readonly statementKey: string;
  /** Builds a statement with the columns of {@link FoundRecord}. Can use the parameter `now`. */
  readonly build: () => RawBuilder<FoundRecord>;
  readonly values: ParameterValues;
}

interface FoundRecord {
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
  index: RecordIndex,
  conditions: readonly Condition[],
): Promise<FastifyReply> {
  const { total, seen } = await inOneState(
    database,
    () => index.forget(),
    async () => {
      const { catalog, total } = await index.count(conditions);
      const values = { partner_id: request.partner.id };
      const seen = firstRow(await database.run('seen events', () => seenEvents, values));
      if (seen.catalog !== catalog) throw new OtherStateError();
      return { total, seen };
    },
  );
  return sendResponse(request, reply, {
    body: JSON.stringify({ total }),
    rows: 0,
    watermark: null,
    revision: keepingRevision(seen),
    goodUntilMs: Infinity,
  });
}

/** The found record with the events; no row if nothing is found. */
export function recordStatement(found: RawBuilder<FoundRecord>): RawBuilder<FoundRecord & SeenEvents> {
  return sql<
    FoundRecord & SeenEvents
  >`select seen.*, found.* from (${found}) as found cross join (${seenEvents}) as seen`;
}
