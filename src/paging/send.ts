import type { FastifyReply, FastifyRequest, FastifySchema, RouteShorthandOptionsWithHandler } from 'fastify';
import { listResponses } from '../http/openapi/openapi-responses.ts';
import type { NamedSchema } from '../http/openapi/openapi-schemas.ts';
import { DEFAULT_LIMIT, PAGE_PARAMETERS, querystringSchema, type Filters } from '../http/request/parameters.ts';
import { sendResponse } from '../http/response/response-cache.ts';
import type { Kind } from '../kinds.ts';
import type { Services } from '../services.ts';
import { formatTimestamp } from '../timestamp.ts';
import { encodeCursor, lastEvent, readSince, seenEvents, type SeenEvents, isWhole, watermarkOf } from './watermark.ts';
import {
  readPage,
  type Listing,
  type PageRow,
  conditionsOf,
  type ConditionsIn,
  findInScope,
  type IndexQuery,
} from './pages.ts';
import { sql, type RawBuilder } from 'kysely';
import type { Scope, Partner } from '../access/scope.ts';
import { notFound } from '../http/response/errors.ts';
import type { ParameterValues, OpenDatabase } from '../database/database.ts';
import { firstRow } from '../database/statement.ts';
import type { Condition } from '../index/conditions.ts';
import type { RecordIndex } from '../index/record-index.ts';
import { OtherStateError } from '../index/statements.ts';
import type { Revision } from '../database/revision.ts';
import { callerOf } from '../http/request/pipeline.ts';

const NO_RECORDS = { shown: 0, data: null, last_key: null, changes_at: null, hasMore: false };

/** A list's documentation, filters and records. */
interface ListRoute<Query, C> {
  readonly kind: Kind;
  /** The texts of its OpenAPI operation. */
  readonly schema: FastifySchema;
  /** The schema of its pages. */
  readonly page: NamedSchema;
  /** Records, if the schema's own examples do not suit this list. */
  readonly examples?: readonly object[];
  readonly filters: Filters<Query, C>;
  /** The listing of the records that meet the conditions of a request's filters. */
  readonly listingOf: (conditionsIn: ConditionsIn<Query, C>) => Listing;
}

/** The route of a list: what it documents, accepts and sends follows from the same filters. */
export function listRoute<Query, C>(
  services: Services,
  { kind, schema, page, examples, filters, listingOf }: ListRoute<Query, C>,
): RouteShorthandOptionsWithHandler {
  const parameters = { ...filters, ...PAGE_PARAMETERS };
  return {
    schema: { ...schema, querystring: querystringSchema(parameters), response: listResponses(page, examples) },
    config: { kind, parameters },
    handler: (request, reply) =>
      sendList(services, request, reply, listingOf(conditionsOf(filters, request.parameters))),
  };
}

/** Responds with one page of a list and the cursor of the next. All pages have the watermark of the first. */
async function sendList(
  { database, clock, cursorSecret }: Services,
  request: FastifyRequest,
  reply: FastifyReply,
  listing: Listing,
): Promise<FastifyReply> {
  const { position, cursorBinding } = request;
  if (cursorBinding === null) throw new Error(`the route ${request.routeOptions.url} takes no cursor`);
  const { limit = DEFAULT_LIMIT } = request.parameters as { limit?: number };
  // The parsed filters, with `updated_since` unchanged: cursors are bound to these.
  const { filters } = cursorBinding;
  const { updated_since: updatedSince } = filters as { updated_since?: string };
  const { after = null, watermark: cursorWatermark = null } = position ?? {};
  const now = formatTimestamp(clock());
  const { row, watermark, revision } = await readInOneState(database, request, {
    cursorWatermark,
    forget: () => listing.forget?.(),
    read: async (partner): Promise<PageRow> => {
      const since = await readSince(database, partner.id, updatedSince, cursorWatermark);
      // The most frequent request of a syncing client: nothing has changed, so nothing is searched.
      const isUnchanged = position === null && since !== null && lastEvent(since.seen) < since.from;
      if (isUnchanged) return { ...since.seen, ...NO_RECORDS };
      return readPage(database, listing, partner, { since, after, limit, now });
    },
  });
  const { data, shown, last_key, hasMore, changes_at } = row;
  const nextCursor =
    hasMore && last_key !== null ? encodeCursor(cursorSecret, cursorBinding, { after: last_key, watermark }) : null;
  return sendResponse(request, reply, {
    body: `{"data":[${data ?? ''}],"meta":${JSON.stringify({ next_cursor: nextCursor, limit })}}`,
    rows: shown,
    watermark,
    revision,
    goodUntilMs: changes_at === null ? Infinity : Date.parse(changes_at),
  });
}

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

/** The events, with nulls if no record was found. */
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
      if (seen.catalog !== catalog) throw new OtherStateError();
      return { ...seen, total };
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

/** Each failed attempt met a release, a change of the partner or a lagging replica, so ten in a row are no chance. */
const MAX_ATTEMPTS = 10;

/** How to read a response. */
export interface Reading<Row extends SeenEvents> {
  /**
   * Reads what this partner can see, and the events by the statement that read the result.
   *
   * @throws OtherStateError if two of its statements saw different states of the catalog.
   */
  readonly read: (partner: Partner) => Promise<Row>;
  /** Drops what is cached of another state of the catalog. */
  readonly forget?: () => void;
  /** The watermark in the request's cursor; null without one. */
  readonly cursorWatermark?: string | null;
}

/** A result that was read in one state of the catalog and of the partner. */
export interface OneState<Row> {
  readonly row: Row;
  /** One millisecond after the last event that the row reflects; that of the cursor, if there is one. */
  readonly watermark: string;
  /** The revision under which to cache the response; null if it must not be cached. */
  readonly revision: Revision | null;
}

/**
 * Reads a response, again and again until it is proven to be of one state: the only place that hands out a partner's
 * scope. The row's own events must show that
 *
 * - all of it was read in one state of the catalog;
 * - the partner's grants, kinds and suspension are those that it was read for. If not, the partner is read again.
 *   Continuous changes of grants do not prevent a response: if the catalog did not change while the partner was read
 *   again, the row is what the partner saw at that moment, and its watermark that of the moment.
 * - SQLite, which reads its two files one after the other, read no commit in between: `catalog` and `access` name the
 *   same last release. If they differ twice, in the same way, a process died between its two commits.
 * - nothing is missing that the watermark in the cursor claims. If the primary lacks it too, it was lost in a restore.
 *
 * @throws ApiError if the partner turns out to be suspended, deleted or limited to other kinds.
 */
export async function readInOneState<Row extends SeenEvents>(
  database: OpenDatabase,
  request: Pick<FastifyRequest, 'id' | 'caller' | 'refreshPartner'>,
  { read, forget, cursorWatermark = null }: Reading<Row>,
): Promise<OneState<Row>> {
  let before: SeenEvents | null = null;
  /** The state of the catalog before the partner was read again. */
  let refreshedIn: string | null = null;
  let isFromPrimary = false;
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
    const { partner } = callerOf(request);
    const row: Row | null = await read(partner).catch((error: unknown) => {
      if (!(error instanceof OtherStateError)) throw error;
      forget?.();
      return null;
    });
    let isBehind = false;
    if (row !== null) {
      const { changedAt } = partner.scope;
      const isCurrent = row.partner_state === partner.state;
      const wasCurrent = row.catalog === refreshedIn && row.grants_changed_at >= changedAt;
      if (isCurrent ? isWhole(row) || isSame(row, before) : wasCurrent) {
        const watermark = watermarkOf({ published_at: row.published_at, grants_changed_at: changedAt });
        isBehind = cursorWatermark !== null && watermark < cursorWatermark;
        if (!isBehind || isFromPrimary) {
          const revision = isCurrent && isWhole(row) ? row.revision : null;
          return { row, watermark: cursorWatermark ?? watermark, revision };
        }
      } else if (!isCurrent) {
        refreshedIn = row.catalog;
        await request.refreshPartner();
      }
    }
    before = row;
    // The first failure is a change in between; a second one means that one of two servers lags behind.
    if (isBehind || attempt > 0) {
      database.bypassReplicas();
      isFromPrimary = true;
    }
  }
  throw new Error(`no response in one state after ${MAX_ATTEMPTS} attempts: changes follow each other too fast`);
}

function isSame(row: SeenEvents, before: SeenEvents | null): boolean {
  return row.published_at === before?.published_at && row.announced_at === before.announced_at;
}
