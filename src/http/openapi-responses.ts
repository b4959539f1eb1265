import { Type, type TSchema } from 'typebox';
import { ERROR_CODES, ERROR_PAGES_PATH, type ErrorCode } from './errors.ts';
import { describedRef, TIMESTAMP_PATTERN, nameOf, nullable, openEnum, refTo } from './openapi-schemas.ts';
import { MAX_LIMIT } from './parameters.ts';

/** A response in a route's schema; `headers` are keys of {@link HEADERS}. */
interface ResponseSchema {
  readonly description: string;
  readonly headers: Readonly<Record<string, object>>;
  readonly content?: Readonly<Record<string, { readonly schema: TSchema }>>;
  /** `null` if there is no body. */
  readonly type?: 'null';
}

/** A route's responses by status. */
export type ResponseSchemas = Readonly<Record<number, ResponseSchema>>;

const JSON_MEDIA = 'application/json';

const errorCode = openEnum(
  'ErrorCode',
  ERROR_CODES,
  `For programs to decide by. Causes and remedies: ${ERROR_CODES.map(
    (code) => `[${code}](${ERROR_PAGES_PATH}/${code})`,
  ).join(', ')}.`,
);

const REQUEST_ID = { type: 'string', minLength: 26, maxLength: 26, pattern: '^req_[A-Za-z0-9_-]{22}$' } as const;

const errorDetail = Type.Object(
  {
    code: refTo(errorCode),
    message: Type.String({ description: 'For people: what was wrong and what to do. May change.' }),
    request_id: Type.String({
      ...REQUEST_ID,
      description: 'Quote it when you ask for help.',
      examples: ['req_b1mLHn3RKaYCJL5VFKRQBQ'],
    }),
  },
  { $id: 'ErrorDetail', description: 'The error, for programs and for people.' },
);

/** The envelope of every error. */
const errorSchema = Type.Object(
  { error: describedRef(errorDetail, 'The error.') },
  { $id: 'Error', description: 'The body of every error.' },
);

const pageMeta = Type.Object(
  {
    next_cursor: nullable(Type.String({ minLength: 1, description: 'For the next page; null on the last. Opaque.' })),
    limit: Type.Integer({
      format: 'int32',
      minimum: 1,
      maximum: MAX_LIMIT,
      description: 'The page size in effect.',
      examples: [25],
    }),
  },
  { $id: 'PageMeta', description: 'Where a page is in its list.' },
);

/** Named schemas shared by the responses of all resources. */
export const SHARED_SCHEMAS = [errorCode, errorDetail, errorSchema, pageMeta];

/** The response headers described in the document. */
export const HEADERS = {
  'X-Request-ID': header('Identifies the request; on every response. Made by the service.', REQUEST_ID),
  'X-Sync-Watermark': header(
    'What to pass as `updated_since` the next time, to receive what changed after this walk began. The same on all ' +
      'pages of a walk.',
    { type: 'string', format: 'date-time', maxLength: 24, pattern: TIMESTAMP_PATTERN },
  ),
  ETag: header('Names this content. Sent back as `If-None-Match`, it gives 304 while nothing changed.', {
    type: 'string',
    maxLength: 26,
    pattern: '^W/"[A-Za-z0-9_-]{22}"$',
  }),
  RateLimit: header('Requests left and seconds until the count begins anew: `"partner";r=599;t=60`.', {
    type: 'string',
    pattern: '^"partner";r=[0-9]+;t=[0-9]+$',
  }),
  'RateLimit-Policy': header('Requests in a window of `w` seconds: `"partner";q=600;w=60`.', {
    type: 'string',
    pattern: '^"partner";q=[0-9]+;w=[0-9]+$',
  }),
  'Retry-After': header('Whole seconds after which the next request will be answered.', {
    type: 'integer',
    format: 'int32',
    minimum: 1,
    maximum: 60,
  }),
  'WWW-Authenticate': header('The scheme of the key.', { type: 'string', pattern: '^Bearer$' }),
  Allow: header('The methods that every path takes.', { type: 'string', pattern: '^GET, HEAD$' }),
};

export type HeaderName = keyof typeof HEADERS;

const BAD_REQUEST = 'A parameter is unknown, repeated or malformed, or the request is.';

const WRONG_METHOD = 'The method is neither GET nor HEAD.';

const LIMIT_HEADERS = ['RateLimit', 'RateLimit-Policy'] as const;

/** The schema of a list page, named after the schema of its items: `ContractPage`. */
export function pageOf(item: TSchema, description: string): TSchema {
  return Type.Object(
    {
      data: Type.Array(refTo(item), {
        maxItems: MAX_LIMIT,
        description: 'The records of the page, in the order of the list.',
      }),
      meta: describedRef(pageMeta, 'Where the page is in the list.'),
    },
    { $id: `${nameOf(item)}Page`, description },
  );
}

/** Responses of a list route. Takes the schema made by {@link pageOf}. */
export function listResponses(page: TSchema): ResponseSchemas {
  return {
    ...successResponses('A page of the list.', page, ['X-Sync-Watermark']),
    ...errorResponses({ detail: false }),
  };
}

/** Responses of a detail route, which can be 404. The schema is named by its `$id`. */
export function detailResponses(record: TSchema): ResponseSchemas {
  return { ...successResponses('The record.', record), ...errorResponses({ detail: true }) };
}

/** Responses of a route whose object always exists, such as a count. The schema is named by its `$id`. */
export function objectResponses(object: TSchema): ResponseSchemas {
  return { ...successResponses('The answer.', object), ...errorResponses({ detail: false }) };
}

/** Responses of `/health`: no key, so no rate limits and no ETag. */
export function healthResponses(health: TSchema): ResponseSchemas {
  return {
    200: {
      description: 'The answer.',
      headers: headersNamed([]),
      content: jsonOf(health),
    },
    400: errorResponse('validation_failed', BAD_REQUEST, []),
    405: errorResponse('validation_failed', WRONG_METHOD, ['Allow']),
  };
}

/** The error responses of any route under /v1; only a `detail` can be 404. */
export function errorResponses({ detail }: { detail: boolean }): ResponseSchemas {
  return {
    400: errorResponse('validation_failed', BAD_REQUEST, LIMIT_HEADERS),
    401: errorResponse('unauthorized', 'The API key is missing or not valid.', ['WWW-Authenticate']),
    403: errorResponse(
      'forbidden',
      'The partner is suspended, or may not ask for this kind of resource.',
      LIMIT_HEADERS,
    ),
    ...(detail && {
      404: errorResponse('not_found', 'There is no such record, or it is not in the scope of the key.', LIMIT_HEADERS),
    }),
    405: errorResponse('validation_failed', WRONG_METHOD, ['Allow', ...LIMIT_HEADERS]),
    429: errorResponse('rate_limited', 'Too many requests.', ['Retry-After', ...LIMIT_HEADERS]),
    500: errorResponse('internal_error', 'Something failed on our side.', LIMIT_HEADERS),
  };
}

function successResponses(description: string, schema: TSchema, more: readonly HeaderName[] = []): ResponseSchemas {
  const headers = headersNamed(['ETag', ...LIMIT_HEADERS, ...more]);
  return {
    200: { description, headers, content: jsonOf(schema) },
    304: { description: 'Nothing changed since the answer that `If-None-Match` names.', headers, type: 'null' },
  };
}

function errorResponse(code: ErrorCode, meaning: string, headers: readonly HeaderName[]): ResponseSchema {
  // Plain text, because the API reference shows it inside a button, which cannot contain links. The description of the
  // codes has them.
  const description = `${meaning} ${ERROR_PAGES_PATH}/${code} says what to do.`;
  return { description, headers: headersNamed(headers), content: jsonOf(errorSchema) };
}

/** Placeholders, which `addOpenApi` replaces with references to {@link HEADERS}. */
function headersNamed(names: readonly HeaderName[]): Record<string, object> {
  return Object.fromEntries(['X-Request-ID', ...names].map((name) => [name, {}]));
}

function jsonOf(schema: TSchema): NonNullable<ResponseSchema['content']> {
  return { [JSON_MEDIA]: { schema: refTo(schema) } };
}

function header(description: string, schema: object): { description: string; schema: object } {
  return { description, schema };
}
