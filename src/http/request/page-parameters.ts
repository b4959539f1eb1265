import { createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import Negotiator from 'negotiator';
import type { Database } from '../../database/database.ts';
import { readStoredSetting } from '../../database/rows.ts';
import { formatTimestamp } from '../../timestamp.ts';
import { validationFailed } from '../response/errors.ts';
import { openEnum } from '../openapi/openapi-schemas.ts';
import { queryOf } from './request-head.ts';
import { InvalidParameter, isBlank, oneOfParameter, type PageParameter } from './parameters.ts';

const FORMATS = ['json', 'ndjson', 'csv'] as const;
export type Format = (typeof FORMATS)[number];

/** The media types that a client can request, in our order of preference. */
const FORMAT_OF: Readonly<Record<string, Format>> = {
  'application/json': 'json',
  'application/x-ndjson': 'ndjson',
  'application/jsonl': 'ndjson',
  'application/ndjson': 'ndjson',
  'text/csv': 'csv',
};

/** A parameter of a media type, such as `charset=utf-8`, but not its weight. */
const MEDIA_TYPE_PARAMETER = /;\s*(?!q=)[^\s;,="]+=("[^"]*"|[^\s;,"]*)/gi;

/** The format that an `Accept` header prefers. It is JSON if the header names nothing of ours: this API has no 406. */
export function acceptedFormat(accept: string | undefined, formats: readonly Format[] = FORMATS): Format {
  // Nearly all requests: the library would take two microseconds for each.
  if (accept === undefined || !/jsonl|ndjson|csv|text\/\*/i.test(accept)) return 'json';
  const types = Object.keys(FORMAT_OF).filter((type) => formats.includes(FORMAT_OF[type] ?? 'json'));
  return FORMAT_OF[preferredType(accept, types) ?? ''] ?? 'json';
}

/** The first of our media types that an `Accept` header prefers; undefined if it accepts none. */
export function preferredType(accept: string, types: readonly string[]): string | undefined {
  // The library matches parameters exactly; ours have none that a client could choose between.
  return new Negotiator({ headers: { accept: accept.replaceAll(MEDIA_TYPE_PARAMETER, '') } }).mediaType([...types]);
}

export const DEFAULT_LIMIT = 25;
export const MAX_LIMIT = 100;

const MAX_STREAM_LIMIT = 100_000;

/** Page size; its maximum depends on the format. Digits only: `Number()` would accept `0x10`, `1e1`, ` 10` and more. */
const limitParameter = (streams: string): PageParameter<number> => ({
  isOfPage: true,
  schema: {
    type: 'integer',
    format: 'int32',
    minimum: 1,
    maximum: MAX_LIMIT,
    default: DEFAULT_LIMIT,
    description:
      `Maximum number of records on a page. It can change from page to page. With ${streams} it can ` +
      `be up to ${MAX_STREAM_LIMIT}, and without it the response is the whole list.`,
  },
  parse(value) {
    if (isBlank(value)) throw new InvalidParameter('must be a whole number, in plain digits');
    // `checkLimit` refuses 0: the maximum depends on the format.
    return /^[1-9]\d{0,14}$/.test(value) ? Number(value) : 0;
  },
});

/** @throws ApiError 400 if the format does not accept the limit. */
export function checkLimit(limit: number | undefined, format: Format): void {
  const max = format === 'json' ? MAX_LIMIT : MAX_STREAM_LIMIT;
  if (limit !== undefined && (limit < 1 || limit > max))
    throw validationFailed(`Parameter "limit" must be a whole number from 1 to ${max}, in plain digits.`);
}

/** A `Via` header in which a proxy names a client of HTTP/1.0. */
const VIA_HTTP_1_0 = /(?:^|,)\s*(?:HTTP\/)?1\.0\s/i;

/** Refuses streams to clients of HTTP/1.0: without chunks, they would take a stream that was cut for a whole one. */
function checkProtocol({ httpVersion, headers }: IncomingMessage, format: Format): void {
  if (format === 'json' || (httpVersion !== '1.0' && !VIA_HTTP_1_0.test(headers.via ?? ''))) return;
  throw validationFailed(
    'A list is streamed over HTTP/1.1 only, since a client of HTTP/1.0 cannot see that a stream was cut. Use "format=json", ' +
      'or a client or proxy of HTTP/1.1.',
  );
}

export const listFormat = openEnum(
  'ListFormat',
  FORMATS,
  '`json` is a page of the list. `ndjson` and `csv` stream all of it, or `limit` records.',
);

export const feedFormat = openEnum(
  'FeedFormat',
  ['json', 'ndjson'],
  '`json` is a page. `ndjson` streams all changes, or `limit` of them.',
);

/** Wins over `Accept`, which is compared with `formats`. */
interface FormatParameter extends PageParameter<Format> {
  readonly formats: readonly Format[];
}

function formatParameter(format: typeof listFormat | typeof feedFormat, since = ''): FormatParameter {
  const description = `How the list is sent. Without it, the \`Accept\` header decides.${since}`;
  return { isOfPage: true, formats: format.enum, ...oneOfParameter<Format>(format, description) };
}

/** `makePageCheck` checks that the cursor belongs to this list. */
const cursorParameter: PageParameter<string> = {
  isOfPage: true,
  schema: {
    type: 'string',
    minLength: 1,
    description: 'The `meta.next_cursor` of the previous page, unchanged, with the same filters. Opaque.',
  },
  parse(value) {
    if (isBlank(value)) throw new InvalidParameter('must be the "meta.next_cursor" of the previous page, unchanged');
    return value;
  },
};

export const PAGE_PARAMETERS = {
  cursor: cursorParameter,
  limit: limitParameter('`format=ndjson` or `format=csv`'),
  format: formatParameter(listFormat, ' Since 1.2.0.'),
};

export const FEED_PARAMETERS = {
  cursor: cursorParameter,
  limit: limitParameter('`format=ndjson`'),
  format: formatParameter(feedFormat),
};

/** The context in which a cursor is valid; in any other it is rejected. */
export interface CursorBinding {
  endpoint: string;
  partnerId: number;
  /** The parsed filters, without `cursor`, `limit` and `format`. */
  filters: FastifyRequest['parameters'];
}

/** The content of a cursor: the next page starts after the key `after`, whose record may no longer exist. */
export interface DecodedCursor {
  after: string;
  /** The watermark of the listing's first page. */
  watermark: string;
}

const WATERMARK_BYTES = 6;
const MAC_BYTES = 16;

/** Encodes a cursor as opaque, authenticated text. */
export function encodeCursor(secret: Buffer, binding: CursorBinding, { after, watermark }: DecodedCursor): string {
  const timestamp = Buffer.alloc(WATERMARK_BYTES);
  timestamp.writeUIntBE(Date.parse(watermark), 0, WATERMARK_BYTES);
  const content = Buffer.concat([timestamp, Buffer.from(after)]);
  return Buffer.concat([content, macOf(secret, binding, content)]).toString('base64url');
}

/** The `Link` to what follows: the same request with another cursor. */
export function nextLink({ originalUrl, routeOptions }: FastifyRequest, cursor: string): string {
  const query = new URLSearchParams(queryOf(originalUrl));
  query.set('cursor', cursor);
  return `<${routeOptions.url ?? ''}?${query.toString()}>; rel="next"`;
}

/** Decodes a cursor; null unless it was issued for this binding, in this spelling of its bytes as base64url. */
export function decodeCursor(secret: Buffer, binding: CursorBinding, cursor: string): DecodedCursor | null {
  const bytes = Buffer.from(cursor, 'base64url');
  if (bytes.toString('base64url') !== cursor || bytes.length <= WATERMARK_BYTES + MAC_BYTES) return null;
  const content = bytes.subarray(0, -MAC_BYTES);
  if (!timingSafeEqual(bytes.subarray(-MAC_BYTES), macOf(secret, binding, content))) return null;
  return {
    watermark: formatTimestamp(content.readUIntBE(0, WATERMARK_BYTES)),
    after: content.toString('utf8', WATERMARK_BYTES),
  };
}

function macOf(secret: Buffer, { endpoint, partnerId, filters }: CursorBinding, content: Buffer): Buffer {
  const bound = JSON.stringify([endpoint, partnerId, Object.entries(filters).sort(([a], [b]) => (a < b ? -1 : 1))]);
  return createHmac('sha256', secret).update(bound).update('\n').update(content).digest().subarray(0, MAC_BYTES);
}

/** The HMAC secret of cursors. The first migration generates it in the database, so all processes share it. */
export async function readCursorSecret(database: Database): Promise<Buffer> {
  const secret = await readStoredSetting(database, 'cursor_secret');
  if (secret === null) throw new Error('there is no secret of cursors');
  return Buffer.from(secret, 'hex');
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Null on the first page. */
    decodedCursor: DecodedCursor | null;
    /** Null if the route is not a list. */
    cursorBinding: CursorBinding | null;
  }
}

/** Makes the check of a list's page parameters, format and cursor. It throws ApiError 400. */
export function makePageCheck(v1: FastifyInstance, cursorSecret: Buffer): (request: FastifyRequest) => void {
  v1.decorateRequest('decodedCursor', null);
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
    request.decodedCursor = decodeCursor(cursorSecret, request.cursorBinding, cursor as string);
    if (request.decodedCursor === null) {
      throw validationFailed(
        'Parameter "cursor" was not issued by this list for these filters. Pass the "meta.next_cursor" of the previous ' +
          'page unchanged, with the same filters, or omit it to start from the first page.',
      );
    }
  };
}
