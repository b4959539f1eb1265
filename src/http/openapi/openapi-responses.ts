import { ERROR_CODES, ERROR_PAGES_PATH, type ErrorCode } from '../response/errors.ts';
import {
  describedRef,
  nullableSchema,
  numberOf,
  objectSchema,
  openEnum,
  refTo,
  TIMESTAMP_PATTERN,
  type NamedSchema,
  type Schema,
} from './openapi-schemas.ts';
import { feedFormat, listFormat, MAX_LIMIT } from '../request/page-parameters.ts';

type Content = Readonly<Record<string, { readonly schema: Schema }>>;

const streamOf = (description: string) => ({ schema: { type: 'string', description } });

const STREAMS = {
  'application/x-ndjson': streamOf('A record as JSON on each line. Since 1.2.0.'),
  'text/csv': streamOf('A header line, then a record on each line (RFC 4180). Since 1.2.0.'),
};

const errorCode = openEnum(
  'ErrorCode',
  ERROR_CODES,
  `Stable, for programs. Causes and remedies: ${ERROR_CODES.map(
    (code) => `[${code}](${ERROR_PAGES_PATH}/${code})`,
  ).join(', ')}.`,
);

const REQUEST_ID = { type: 'string', minLength: 26, maxLength: 26, pattern: '^req_[A-Za-z0-9_-]{22}$' } as const;

const errorDetail = objectSchema(
  {
    code: refTo(errorCode),
    message: { type: 'string', description: 'For people: what was wrong and what to do. It can change.' },
    request_id: {
      ...REQUEST_ID,
      description: 'Include it when you contact support.',
      examples: ['req_b1mLHn3RKaYCJL5VFKRQBQ'],
    },
  },
  { $id: 'ErrorDetail', description: 'A code for programs and a message for people.' },
);

const errorSchema = objectSchema(
  { error: describedRef(errorDetail, 'The error.') },
  { $id: 'Error', description: 'The body of every error.' },
);

export const pageMeta = objectSchema(
  {
    next_cursor: nullableSchema({
      type: 'string',
      minLength: 1,
      description: 'Cursor of the next page; null on the last page. Opaque.',
    }),
    limit: {
      type: 'integer',
      format: 'int32',
      minimum: 1,
      maximum: MAX_LIMIT,
      description: 'The page size in effect.',
      examples: [25],
    },
  },
  { $id: 'PageMeta', description: 'The position of a page in its list.' },
);

export const countSchema = objectSchema(
  { total: numberOf('Number of records that match the filters.', 6435) },
  { $id: 'Count', description: 'The number of matching records.' },
);

export const SHARED_SCHEMAS = [errorCode, errorDetail, errorSchema, pageMeta, countSchema, listFormat, feedFormat];

export const HEADERS = {
  'X-Request-ID': header(
    'Identifies the request. The service generates it and sends it with every response.',
    REQUEST_ID,
  ),
  'X-Sync-Watermark': header(
    'Pass it as `updated_since` in the next sync to receive everything that changed since this one began. The same on ' +
      'all pages of a sync.',
    { type: 'string', format: 'date-time', maxLength: 24, pattern: TIMESTAMP_PATTERN },
  ),
  Link: header(
    'The next page, or the next piece of a stream with `limit`: `</v1/…>; rel="next"`. Absent after the last. An addition ' +
      'to the interface, on streams since 1.2.0, on pages since 1.3.0.',
    { type: 'string' },
  ),
  ETag: header('Identifies this content. Send it as `If-None-Match` to get 304 if nothing has changed.', {
    type: 'string',
    maxLength: 26,
    pattern: '^W/"[A-Za-z0-9_-]{22}"$',
  }),
  RateLimit: header('Requests left, and seconds until the quota is reset: `"partner";r=599;t=60`.', {
    type: 'string',
    pattern: '^"partner";r=[0-9]+;t=[0-9]+$',
  }),
  'RateLimit-Policy': header('Quota of requests in `w` seconds: `"partner";q=600;w=60`.', {
    type: 'string',
    pattern: '^"partner";q=[0-9]+;w=[0-9]+$',
  }),
  'Retry-After': header('Whole seconds to wait before the next request.', {
    type: 'integer',
    format: 'int32',
    minimum: 1,
    maximum: 60,
  }),
  'WWW-Authenticate': header('The authentication scheme.', { type: 'string', pattern: '^Bearer$' }),
  'X-Key-Expires-At': header(
    'When the API key ends: only in its last 30 days, and in the overlap after a rotation. Change to another key before. ' +
      'Since 1.1.0.',
    { type: 'string', format: 'date-time', maxLength: 24, pattern: TIMESTAMP_PATTERN },
  ),
  Allow: header('The methods that every path accepts.', { type: 'string', pattern: '^GET, HEAD$' }),
};

type HeaderName = keyof typeof HEADERS;

const BAD_REQUEST = 'A parameter is unknown, repeated or malformed, or the request is malformed.';

const WRONG_METHOD = 'The method is neither GET nor HEAD.';

/** On every response to a valid key. */
const KEY_HEADERS = ['RateLimit', 'RateLimit-Policy', 'X-Key-Expires-At'] as const;

/** The schema of a list page, named after the schema of its items: `ContractPage`. */
export function pageOf(item: NamedSchema, description: string) {
  return objectSchema(
    {
      data: {
        type: 'array',
        items: refTo(item),
        maxItems: MAX_LIMIT,
        description: 'The records of the page, in the order of the list.',
      },
      meta: describedRef(pageMeta, 'The position of the page in the list.'),
    },
    { $id: `${item.$id}Page`, description },
  );
}

/** Takes the schema made by {@link pageOf}, and records if the schema's own examples do not suit this route. */
export function listResponses(page: NamedSchema, examples?: readonly object[]) {
  const example = examples && { data: examples, meta: { next_cursor: null, limit: 25 } };
  const headers = ['X-Sync-Watermark', 'Link'] as const;
  return responses('A page of the list, or a stream of its records.', page, { headers, example, streams: STREAMS });
}

export function feedResponses(page: NamedSchema) {
  const lines = streamOf('A change as JSON on each line, and a last line with `meta`.');
  const streams = { 'application/x-ndjson': lines };
  return responses('A page of changes, or a stream of them.', page, { headers: ['Link'], streams });
}

/** Responses of `/health`: no key, so no rate limits and no ETag. */
export function healthResponses(health: NamedSchema) {
  return {
    200: { description: 'The service is running.', headers: headersNamed([]), content: jsonOf(health) },
    400: errorResponse('validation_failed', BAD_REQUEST, []),
    405: errorResponse('validation_failed', WRONG_METHOD, ['Allow']),
  };
}

interface ResponseOptions {
  readonly headers?: readonly HeaderName[];
  readonly example?: object | undefined;
  readonly streams?: Content;
  readonly isDetail?: boolean;
}

/** The responses of a route that needs a key. */
export function responses(
  description: string,
  schema: NamedSchema,
  { headers: more = [], example, streams, isDetail = false }: ResponseOptions = {},
) {
  const headers = headersNamed(['ETag', ...KEY_HEADERS, ...more]);
  return {
    200: { description, headers, content: { ...jsonOf(schema, example), ...streams } },
    304: {
      description: 'Nothing has changed since the response that `If-None-Match` identifies.',
      headers,
      // No body.
      type: 'null',
    },
    400: errorResponse('validation_failed', BAD_REQUEST, KEY_HEADERS),
    401: errorResponse('unauthorized', 'The API key is missing or not valid.', ['WWW-Authenticate']),
    403: errorResponse(
      'forbidden',
      'The partner is suspended, or has no access to this kind of resource.',
      KEY_HEADERS,
    ),
    ...(isDetail && {
      404: errorResponse('not_found', 'No such record, or the key cannot see it.', KEY_HEADERS),
    }),
    405: errorResponse('validation_failed', WRONG_METHOD, ['Allow', ...KEY_HEADERS]),
    429: errorResponse('rate_limited', 'Too many requests.', ['Retry-After', ...KEY_HEADERS]),
    500: errorResponse('internal_error', 'Something failed on our side.', KEY_HEADERS),
  };
}

function errorResponse(code: ErrorCode, meaning: string, headers: readonly HeaderName[]) {
  // Plain text: the API reference shows it inside a button, which cannot contain links. `errorCode` has the links.
  const description = `${meaning} See ${ERROR_PAGES_PATH}/${code}.`;
  return { description, headers: headersNamed(headers), content: jsonOf(errorSchema) };
}

/** Placeholders, which `addOpenApi` replaces with references to {@link HEADERS}. */
function headersNamed(names: readonly HeaderName[]): Record<string, object> {
  return Object.fromEntries(['X-Request-ID', ...names].map((name) => [name, {}]));
}

function jsonOf(schema: NamedSchema, example?: object): Content {
  return { 'application/json': { schema: refTo(schema), ...(example && { example }) } };
}

function header(description: string, schema: object): { description: string; schema: object } {
  return { description, schema };
}
