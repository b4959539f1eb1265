import type { FastifyInstance, FastifyReply, FastifyRequest, FastifySchema } from 'fastify';
import type { Snapshot } from '../access/snapshot.ts';
import type { ParameterValues, TextsToRead } from '../database/database.ts';
import type { Revision } from '../database/revision.ts';
import { listResponses, pageOf } from '../http/openapi/openapi-responses.ts';
import type { RecordSchema } from '../http/openapi/openapi-schemas.ts';
import { DEFAULT_LIMIT, PAGE_PARAMETERS, encodeCursor, nextLink } from '../http/request/page-parameters.ts';
import { querystringSchema, type Filters } from '../http/request/parameters.ts';
import { notFound } from '../http/response/errors.ts';
import { sendResponse } from '../http/response/response-cache.ts';
import type { Condition } from '../index/conditions.ts';
import type { RecordIndex } from '../index/record-index.ts';
import type { Kind } from '../kinds.ts';
import type { RouteServices } from '../services.ts';
import { formatTimestamp } from '../timestamp.ts';
import { NO_RECORDS, pageOfLines, readBatch, type Batch } from './batch.ts';
import { csvColumns } from './csv.ts';
import { conditionsOf, MAX_PAGE_BYTES, type ConditionsIn, type IndexQuery, type Listing } from './pages.ts';
import { isUnchangedSince, readSince } from './since.ts';
import { sendStream } from './stream.ts';

interface ListRoute<Query, C> {
  readonly kind: Kind;
  /** The texts of its OpenAPI operation. */
  readonly schema: FastifySchema;
  /** The schema of its records. */
  readonly record: RecordSchema;
  /** The name of the records in descriptions, if several lists share a page; by default the kind. */
  readonly plural?: string;
  /** Records, if the schema's own examples do not suit this list. */
  readonly examples?: readonly object[];
  readonly filters: Filters<Query, C>;
  readonly listingOf: (conditionsIn: ConditionsIn<Query, C>) => Listing;
}

/** Registers the route of a list: what it documents, accepts and sends follows from the same fields and filters. */
export function registerList<Query, C>(
  v1: FastifyInstance,
  services: RouteServices,
  { kind, schema, record, plural = kind, examples, filters, listingOf }: ListRoute<Query, C>,
): void {
  const page = pageOf(record, `A page of ${plural}.`);
  if (v1.getSchema(page.$id) === undefined) v1.addSchema(page);
  const parameters = { ...filters, ...PAGE_PARAMETERS };
  const columns = csvColumns(record.properties);
  v1.get(`/${kind}`, {
    schema: { ...schema, querystring: querystringSchema(parameters), response: listResponses(page, examples) },
    config: { kind, parameters },
    handler: (request, reply) => {
      const listing = listingOf(conditionsOf(filters, request.parameters));
      if (request.format === 'json') return sendList(services, request, reply, listing);
      return sendStream(services, request, reply, { listing, columns, name: kind });
    },
  });
}

/** Responds with one page of a list and the cursor of the next. All pages have the watermark of the first. */
async function sendList(
  { clock, cursorSecret }: RouteServices,
  request: FastifyRequest,
  reply: FastifyReply,
  listing: Listing,
): Promise<FastifyReply> {
  const { decodedCursor, cursorBinding } = request;
  if (cursorBinding === null) throw new Error(`the route ${request.routeOptions.url} takes no cursor`);
  const { limit = DEFAULT_LIMIT } = request.parameters as { limit?: number };
  // The parsed filters, with `updated_since` unchanged: cursors are bound to these.
  const { filters } = cursorBinding;
  const { updated_since: updatedSince } = filters as { updated_since?: string };
  const { after = null, watermark: cursorWatermark = null } = decodedCursor ?? {};
  const now = formatTimestamp(clock());
  const { result, snapshot, revision } = await request.server.snapshots.read<Batch>(request, async (snapshot) => {
    const since = await readSince(snapshot, updatedSince, cursorWatermark);
    // The most frequent request of a syncing client: nothing has changed, so nothing is searched.
    if (decodedCursor === null && isUnchangedSince(snapshot, since)) return NO_RECORDS;
    return readBatch(snapshot, listing, { since, after, limit, now, maxBytes: MAX_PAGE_BYTES });
  });
  const { bytes, count, last_key, hasMore, changes_at } = result;
  const watermark = cursorWatermark ?? snapshot.watermark;
  const nextCursor =
    hasMore && last_key !== null ? encodeCursor(cursorSecret, cursorBinding, { after: last_key, watermark }) : null;
  return sendResponse(request, reply, {
    body: pageOfLines(bytes, { next_cursor: nextCursor, limit }),
    rows: count,
    ...(nextCursor !== null && { link: nextLink(request, nextCursor) }),
    watermark,
    revision: cachedAs(request, revision),
    goodUntilMs: changes_at === null ? Infinity : Date.parse(changes_at),
  });
}

/** Responses that `is_open` selects are not cached: deadlines of records that they do not show change them. */
function cachedAs({ parameters }: FastifyRequest, revision: Revision | null): Revision | null {
  return parameters['is_open'] === undefined ? revision : null;
}

/** A query that returns the text of one record, or none. Can use the parameter `now`. */
export interface RecordQuery {
  readonly statementKey: string;
  readonly build: () => TextsToRead;
  readonly values: ParameterValues;
}

/** Responds with one record, or 404. */
export async function sendRecord(
  { clock }: RouteServices,
  request: FastifyRequest,
  reply: FastifyReply,
  queryIn: (snapshot: Snapshot) => RecordQuery,
): Promise<FastifyReply> {
  const now = formatTimestamp(clock());
  const { result, revision } = await request.server.snapshots.read(request, (snapshot) => {
    const { statementKey, build, values } = queryIn(snapshot);
    return snapshot.readTexts(statementKey, build, { ...values, now });
  });
  const { bytes, count, changes_at } = result;
  if (count === 0) throw notFound();
  return sendResponse(request, reply, {
    // Without its line feed.
    body: bytes.subarray(0, -1),
    rows: 1,
    revision,
    goodUntilMs: changes_at === null ? Infinity : Date.parse(changes_at),
  });
}

/** Responds with `{total}`: the number of records that the list with these filters has. */
export async function sendCount(
  { clock }: RouteServices,
  request: FastifyRequest,
  reply: FastifyReply,
  index: RecordIndex,
  filters: Filters<IndexQuery, Condition>,
): Promise<FastifyReply> {
  const conditionsIn = conditionsOf(filters, request.parameters);
  const now = formatTimestamp(clock());
  const { updated_since: updatedSince } = request.parameters as { updated_since?: string };
  const { result: total, revision } = await request.server.snapshots.read(request, async (snapshot) => {
    const since = await readSince(snapshot, updatedSince, null);
    return index.count(snapshot, await conditionsIn({ index, snapshot, since, now }));
  });
  return sendResponse(request, reply, {
    body: JSON.stringify({ total }),
    rows: 0,
    revision: cachedAs(request, revision),
  });
}
