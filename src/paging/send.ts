import type { FastifyReply, FastifyRequest, FastifySchema, RouteShorthandOptionsWithHandler } from 'fastify';
import { listResponses } from '../http/openapi/openapi-responses.ts';
import type { NamedSchema } from '../http/openapi/openapi-schemas.ts';
import { DEFAULT_LIMIT, PAGE_PARAMETERS, encodeCursor } from '../http/request/page-parameters.ts';
import { querystringSchema, type Filters } from '../http/request/parameters.ts';
import { sendResponse } from '../http/response/response-cache.ts';
import type { Kind } from '../kinds.ts';
import type { Services } from '../services.ts';
import { formatTimestamp } from '../timestamp.ts';
import { lastEvent, readSince, seenEvents, type SeenEvents, readInOneState } from './one-state.ts';
import {
  readPage,
  type Listing,
  type PageRow,
  conditionsOf,
  type ConditionsIn,
  findInScope,
  inState,
  type IndexQuery,
  type ListedRecords,
  UNLIMITED,
} from './pages.ts';
import { sql, type RawBuilder } from 'kysely';
import type { Scope } from '../access/scope.ts';
import { compareBytewise } from '../bytewise.ts';
import { notFound } from '../http/response/errors.ts';
import type { Query } from '../database/database.ts';
import { firstRow } from '../database/statement.ts';
import type { Condition } from '../index/conditions.ts';
import type { FoundRecords, RecordIndex } from '../index/record-index.ts';
import type { CsvColumn } from './csv.ts';
import { sendStream } from './stream.ts';

const NO_RECORDS = { record_count: 0, data: null, last_key: null, changes_at: null, hasMore: false };

interface ListRoute<Query, C> {
  readonly kind: Kind;
  /** The texts of its OpenAPI operation. */
  readonly schema: FastifySchema;
  readonly page: NamedSchema;
  /** Records, if the schema's own examples do not suit this list. */
  readonly examples?: readonly object[];
  readonly filters: Filters<Query, C>;
  readonly columns: readonly CsvColumn[];
  readonly listingOf: (conditionsIn: ConditionsIn<Query, C>) => Listing;
}

/** The route of a list: what it documents, accepts and sends follows from the same filters. */
export function listRoute<Query, C>(
  services: Services,
  { kind, schema, page, examples, filters, columns, listingOf }: ListRoute<Query, C>,
): RouteShorthandOptionsWithHandler {
  const parameters = { ...filters, ...PAGE_PARAMETERS };
  return {
    schema: { ...schema, querystring: querystringSchema(parameters), response: listResponses(page, examples) },
    config: { kind, parameters },
    handler: (request, reply) => {
      const listing = listingOf(conditionsOf(filters, request.parameters));
      if (request.format === 'json') return sendList(services, request, reply, listing);
      return sendStream(services, request, reply, { listing, columns, name: kind });
    },
  };
}

/** Responds with one page of a list and the cursor of the next. All pages have the watermark of the first. */
async function sendList(
  { database, clock, cursorSecret }: Services,
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
  const { row, watermark, revision } = await readInOneState(database, request, {
    cursorWatermark,
    forget: () => listing.forget?.(),
    read: async (partner): Promise<PageRow> => {
      const since = await readSince(database, partner.id, updatedSince, cursorWatermark);
      // The most frequent request of a syncing client: nothing has changed, so nothing is searched.
      const isUnchanged = decodedCursor === null && since !== null && lastEvent(since.seen) < since.from;
      if (isUnchanged) return { ...since.seen, ...NO_RECORDS };
      const page = await readPage(database, listing, partner, { since, after, limit, now });
      // The watermark is no earlier than `updated_since`, even if a replica that the page was read from lacks an event.
      return since === null ? page : { ...inState(since.seen.catalog, page), ...since.seen };
    },
  });
  const { data, record_count, last_key, hasMore, changes_at } = row;
  const nextCursor =
    hasMore && last_key !== null ? encodeCursor(cursorSecret, cursorBinding, { after: last_key, watermark }) : null;
  return sendResponse(request, reply, {
    body: `{"data":[${data ?? ''}],"meta":${JSON.stringify({ next_cursor: nextCursor, limit })}}`,
    rows: record_count,
    watermark,
    revision,
    goodUntilMs: changes_at === null ? Infinity : Date.parse(changes_at),
  });
}

/** A query that returns one record as rendered text, or no row. Can use the parameter `now`. */
export type RecordQuery = Query<FoundRecord>;

interface FoundRecord {
  readonly text: string;
  /** When the text next changes by itself; null for never. */
  readonly changes_at: string | null;
}

type RecordRow = SeenEvents & { readonly [Name in keyof FoundRecord]: FoundRecord[Name] | null };

/** Responds with one record, or 404. */
export async function sendRecord(
  { database, clock }: Services,
  request: FastifyRequest,
  reply: FastifyReply,
  queryOf: (scope: Scope) => RecordQuery,
): Promise<FastifyReply> {
  const now = formatTimestamp(clock());
  const { row, revision } = await readInOneState(database, request, {
    read: async ({ id, scope }) => {
      const { statementKey, build, values } = queryOf(scope);
      const parameters = { ...values, partner_id: id, now };
      return firstRow(await database.run(statementKey, () => recordStatement(build()), parameters));
    },
  });
  if (row.text === null) throw notFound();
  return sendResponse(request, reply, {
    body: row.text,
    rows: 1,
    watermark: null,
    revision,
    goodUntilMs: row.changes_at === null ? Infinity : Date.parse(row.changes_at),
  });
}

/** Responds with `{total}`: the number of records that the list with these filters has. */
export async function sendCount(
  { database }: Services,
  request: FastifyRequest,
  reply: FastifyReply,
  index: RecordIndex,
  filters: Filters<IndexQuery, Condition>,
): Promise<FastifyReply> {
  const conditionsIn = conditionsOf(filters, request.parameters);
  const { updated_since: updatedSince } = request.parameters as { updated_since?: string };
  const { row, revision } = await readInOneState(database, request, {
    forget: () => index.forget(),
    read: async ({ id, scope }) => {
      const since = await readSince(database, id, updatedSince, null);
      const { catalog, total } = await findInScope({ index, scope, since }, conditionsIn, (conditions) =>
        index.count(conditions),
      );
      const seen = firstRow(await database.run('seen events', () => seenEvents, { partner_id: id }));
      return { ...inState(catalog, seen), total };
    },
  });
  return sendResponse(request, reply, {
    body: JSON.stringify({ total: row.total }),
    rows: 0,
    watermark: null,
    revision,
    goodUntilMs: Infinity,
  });
}

/** The events, with the found record if there is one. */
export function recordStatement(found: RawBuilder<FoundRecord>): RawBuilder<RecordRow> {
  return sql<RecordRow>`select seen.*, found.* from (${seenEvents}) as seen left join (${found}) as found on 1 = 1`;
}

/** A short list whose records are found by key. */
export function keyedListing(
  records: ListedRecords,
  find: (scope: Scope, after: string | null, limit: number) => Promise<FoundRecords>,
): Listing {
  return {
    records,
    async find(scope, _since, after, limit, until) {
      const found = await find(scope, after, limit);
      if (until === null) return found;
      const positions = found.positions.filter((key) => compareBytewise(String(key), until) <= 0);
      return { ...found, positions, hasMore: found.hasMore && positions.length === found.positions.length };
    },
    async count(scope, _since, after) {
      const { catalog, positions } = await find(scope, after, UNLIMITED);
      return { catalog, total: positions.length };
    },
  };
}
