import { sql, type RawBuilder } from 'kysely';
import { partnerState } from '../access/partner-records.ts';
import type { OpenDatabase, ReadSource, Database } from '../database/database.ts';
import { catalogState, revision, type Revision } from '../database/revision.ts';
import { firstRow, parameter } from '../database/statement.ts';
import type { ChangedSince } from '../index/conditions.ts';
import { addMilliseconds, EPOCH, nextMillisecond, formatTimestamp } from '../timestamp.ts';
import type { FastifyRequest, FastifyInstance } from 'fastify';
import { createHmac, timingSafeEqual } from 'node:crypto';
import { validationFailed } from '../http/response/errors.ts';
import {
  acceptedFormat,
  checkLimit,
  checkProtocol,
  type Format,
  type FormatParameter,
} from '../http/request/page-parameters.ts';
import type { Check } from '../http/request/pipeline.ts';

/**
 * The last release and the last grant change that a statement saw, and the revision under which its results can be
 * cached.
 */
export interface SeenEvents {
  /**
   * See `catalogState`. Results of other statements on the catalog are consistent with this one if they saw the same
   * state.
   */
  readonly catalog: string;
  /** The last release in the catalog; the epoch before the first. */
  readonly published_at: string;
  /** The last release recorded in `access`. */
  readonly announced_at: string;
  /** When the partner's grants last changed; the epoch before the first change. */
  readonly grants_changed_at: string;
  /** See `Partner`; empty if there is no such partner. */
  readonly partner_state: string;
  /** Revision in `access.clock`, which changes with every release and every change of partners, keys and grants. */
  readonly revision: Revision;
}

/** One row of events. Uses the parameter `partner_id`. Four index lookups. */
export const seenEvents: RawBuilder<SeenEvents> = sql<SeenEvents>`select
  ${catalogState} as catalog,
  coalesce((select max(instant) from catalog.publications), ${sql.lit(EPOCH)}) as published_at,
  clock.last_publication as announced_at,
  coalesce(partner.grants_changed_at, ${sql.lit(EPOCH)}) as grants_changed_at,
  coalesce(${partnerState}, '') as partner_state,
  ${revision} as revision
  from access.clock as clock left join access.partners as partner on partner.id = ${parameter('partner_id')}`;

/** False if the statement ran between the two commits of a release: it may have seen the rows of only one. */
export function isWhole({ published_at, announced_at }: SeenEvents): boolean {
  return published_at === announced_at;
}

type Events = Pick<SeenEvents, 'published_at' | 'grants_changed_at'>;

/** The timestamp of the later of the two events. */
export function lastEvent({ published_at, grants_changed_at }: Events): string {
  return published_at > grants_changed_at ? published_at : grants_changed_at;
}

/** One millisecond after the last event. */
export function watermarkOf(events: Events): string {
  const last = lastEvent(events);
  return last === EPOCH ? EPOCH : nextMillisecond(last);
}

/**
 * A client's own clock, or its greatest `updated_at`, can be later than a change that it has not seen: a release
 * becomes visible up to a few hundred milliseconds after its timestamp, possibly between two pages of a listing.
 */
const LEEWAY_MS = 5_000;

/** The meaning of an `updated_since`: from the requested timestamp if it is a watermark, otherwise five seconds earlier. */
export interface Since extends ChangedSince {
  readonly seen: KnownEvents;
  /** Whether it is a watermark that was issued to this partner, or could have been. */
  readonly isWatermark: boolean;
}

/**
 * Distinguishes watermarks issued to this partner from other timestamps, and moves the latter back by five seconds. A
 * watermark is one millisecond after a release or a change of the partner's grants, all of which are stored. Costs two
 * index lookups in addition to those for the events.
 *
 * All pages of a listing decide alike: a later page knows more events, but none of them is before the listing's
 * watermark, because events become visible in the order of their timestamps.
 *
 * @param watermark of the listing's first page; null on the first page itself, and for a count.
 */
export async function readSince(
  database: OpenDatabase,
  partnerId: number,
  since: string | undefined,
  watermark: string | null,
): Promise<Since | null> {
  if (since === undefined) return null;
  const earlier = since <= EPOCH ? since : addMilliseconds(since, -LEEWAY_MS);
  const values = { partner_id: partnerId, event: addMilliseconds(since, -1), since, earlier };
  const read = async (source: ReadSource): Promise<KnownEvents> =>
    firstRow(await database.run('events', () => knownEvents, values, source));
  let seen = await read('any');
  // The replica is behind what the client has seen, or the timestamp is in the future.
  if (watermarkOf(seen) < (watermark ?? since)) {
    const newest = await read('primary');
    if (watermarkOf(newest) > watermarkOf(seen)) database.bypassReplicas();
    seen = newest;
  }
  // A command of the previous version may have changed grants without recording when.
  const isKnown = seen.is_watermark === 1 || since === watermarkOf(seen);
  // A timestamp after the listing's watermark cannot be one that the client received earlier.
  const isWatermark = isKnown && (watermark === null || since <= watermark);
  return isWatermark
    ? { from: since, release: seen.before_since + 1, seen, isWatermark }
    : { from: earlier, release: seen.before_earlier + 1, seen, isWatermark };
}

interface KnownEvents extends SeenEvents {
  readonly is_watermark: 0 | 1;
  /** The numbers of the last releases before the timestamp, and before five seconds earlier. */
  readonly before_since: number;
  readonly before_earlier: number;
  /** Departures up to this release, or later releases, are lost. */
  readonly complete_before: string;
  /** When the partner last lost sight of records other than by departures. */
  readonly narrowed_at: string;
}

const lastReleaseBefore = (timestamp: string): RawBuilder<number> =>
  sql<number>`coalesce((select number from catalog.publications where instant < ${parameter(timestamp)}
    order by instant desc limit 1), 0)`;

/** The last events, and whether the parameter `event` is the timestamp of one. Uses the indexes on event timestamps. */
export const knownEvents: RawBuilder<KnownEvents> = sql<KnownEvents>`
  select seen.*,
    case
      when exists (select 1 from catalog.publications where instant = ${parameter('event')}) then 1
      when exists (select 1 from access.grant_changes
        where partner_id = ${parameter('partner_id')} and instant = ${parameter('event')}) then 1
      else 0
    end as is_watermark,
    ${lastReleaseBefore('since')} as before_since,
    ${lastReleaseBefore('earlier')} as before_earlier,
    feed.complete_before,
    coalesce((select narrowed_at from access.partners where id = ${parameter('partner_id')}), ${sql.lit(EPOCH)}) as narrowed_at
  from (${seenEvents}) as seen cross join catalog.feed as feed`;

/** The context in which a cursor is valid; in any other it is rejected. */
export interface CursorBinding {
  endpoint: string;
  partnerId: number;
  /** The parsed filters, without `cursor` and `limit`. */
  filters: FastifyRequest['parameters'];
}

/** A position in a full listing. Not a row: the record that it names may no longer exist. */
export interface Position {
  /** The key of the last record returned. */
  after: string;
  /** The watermark of the listing's first page. */
  watermark: string;
}

const WATERMARK_BYTES = 6;
const MAC_BYTES = 16;

/** Encodes a position as opaque, authenticated text. Equal positions give equal text. */
export function encodeCursor(secret: Buffer, binding: CursorBinding, { after, watermark }: Position): string {
  const timestamp = Buffer.alloc(WATERMARK_BYTES);
  timestamp.writeUIntBE(Date.parse(watermark), 0, WATERMARK_BYTES);
  const position = Buffer.concat([timestamp, Buffer.from(after)]);
  return Buffer.concat([position, authenticate(secret, binding, position)]).toString('base64url');
}

/**
 * Decodes a cursor.
 *
 * @returns null if it was modified, truncated, issued for another endpoint, partner or filters, or is another base64url
 *   spelling of the same bytes.
 */
export function decodeCursor(secret: Buffer, binding: CursorBinding, cursor: string): Position | null {
  const bytes = Buffer.from(cursor, 'base64url');
  if (bytes.toString('base64url') !== cursor || bytes.length <= WATERMARK_BYTES + MAC_BYTES) return null;
  const position = bytes.subarray(0, -MAC_BYTES);
  if (!timingSafeEqual(bytes.subarray(-MAC_BYTES), authenticate(secret, binding, position))) return null;
  return {
    watermark: formatTimestamp(position.readUIntBE(0, WATERMARK_BYTES)),
    after: position.toString('utf8', WATERMARK_BYTES),
  };
}

function authenticate(secret: Buffer, { endpoint, partnerId, filters }: CursorBinding, position: Buffer): Buffer {
  const bound = JSON.stringify([endpoint, partnerId, Object.entries(filters).sort(([a], [b]) => (a < b ? -1 : 1))]);
  return createHmac('sha256', secret).update(bound).update('\n').update(position).digest().subarray(0, MAC_BYTES);
}

/**
 * The HMAC secret of cursors. The first migration generates it and stores it in the database, so that all processes
 * share it.
 */
export async function readCursorSecret({ kysely }: Database): Promise<Buffer> {
  const { value } = await kysely
    .selectFrom('access.settings')
    .select('value')
    .where('name', '=', 'cursor_secret')
    .executeTakeFirstOrThrow();
  return Buffer.from(value, 'hex');
}

declare module 'fastify' {
  interface FastifyRequest {
    /** The position in the listing; null on its first page. */
    position: Position | null;
    /** The binding of this list's cursors; null if the route is not a list. */
    cursorBinding: CursorBinding | null;
  }
}

/** Makes the check that a request's cursor was issued to this partner by this list for these filters: 400 if not. */
export function makeCursorCheck(v1: FastifyInstance, cursorSecret: Buffer): Check {
  v1.decorateRequest('position', null);
  v1.decorateRequest('cursorBinding', null);
  return (request) => {
    const { url, config } = request.routeOptions;
    if (url === undefined || config.parameters?.['cursor'] === undefined) return;
    // Page size and format can change between pages; everything else is bound to the cursor.
    const { cursor, limit, format, ...filters } = request.parameters;
    const { formats } = config.parameters['format'] as FormatParameter;
    request.format = (format as Format | undefined) ?? acceptedFormat(request.headers.accept, formats);
    checkLimit(limit as number | undefined, request.format);
    checkProtocol(request.raw, request.format);
    request.cursorBinding = { endpoint: url, partnerId: request.partner.id, filters };
    if (cursor === undefined) return;
    request.position = decodeCursor(cursorSecret, request.cursorBinding, cursor as string);
    if (request.position === null) {
      throw validationFailed(
        'Parameter "cursor" was not issued by this list for these filters. Pass the "meta.next_cursor" of the previous ' +
          'page unchanged, with the same filters, or omit it to start from the first page.',
      );
    }
  };
}
