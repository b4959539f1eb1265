import { Type, type TSchema } from 'typebox';
import { ERROR_CODES, ERROR_PAGES_PATH, type ErrorCode } from './errors.ts';

/** A response as a route's schema describes it; `headers` names some of {@link HEADERS}. */
interface ResponseSchema {
  readonly description: string;
  readonly headers: Readonly<Record<string, object>>;
  readonly content?: Readonly<Record<string, { readonly schema: TSchema }>>;
  /** `null` says that there is no body. */
  readonly type?: 'null';
}

/** The responses of a route by their status. */
export type ResponseSchemas = Readonly<Record<number, ResponseSchema>>;

const JSON_MEDIA = 'application/json';

const CODE_DESCRIPTION = `What programs may decide by. Causes, and what to do: ${ERROR_CODES.map(
  (code) => `[${code}](${ERROR_PAGES_PATH}/${code})`,
).join(', ')}.`;

/** The envelope of every error. */
export const errorSchema = Type.Object(
  {
    error: Type.Object({
      code: Type.Enum([...ERROR_CODES], { type: 'string', description: CODE_DESCRIPTION }),
      message: Type.String({ description: 'For people: what was wrong and what to do. May change.' }),
      request_id: Type.String({
        description: 'Quote it when you ask for help.',
        examples: ['req_b1mLHn3RKaYCJL5VFKRQBQ'],
      }),
    }),
  },
  { $id: 'Error', description: 'What went wrong.' },
);

/** The response headers that the document explains. */
export const HEADERS = {
  'X-Request-ID': header('Identifies the request; on every response. Made by the service.', { type: 'string' }),
  'X-Sync-Watermark': header(
    'What to pass as `updated_since` the next time, to receive what changed after this walk began. The same on all ' +
      'pages of a walk.',
    { type: 'string', format: 'date-time' },
  ),
  ETag: header('Names this content. Sent back as `If-None-Match`, it gives 304 while nothing changed.', {
    type: 'string',
  }),
  RateLimit: header('Requests left and seconds until the count begins anew: `"partner";r=599;t=60`.', {
    type: 'string',
  }),
  'RateLimit-Policy': header('Requests in a window of so many seconds: `"partner";q=600;w=60`.', { type: 'string' }),
  'Retry-After': header('Whole seconds after which the next request will be answered.', {
    type: 'integer',
    minimum: 1,
  }),
  'WWW-Authenticate': header('`Bearer`.', { type: 'string' }),
};

export type HeaderName = keyof typeof HEADERS;

const BAD_REQUEST = 'A parameter is unknown, repeated or malformed, or the request is.';

const LIMIT_HEADERS = ['RateLimit', 'RateLimit-Policy'] as const;

/** A page of a list. The schema of its items is named by its `$id`. */
export function listResponses(item: TSchema): ResponseSchemas {
  const page = Type.Object({
    data: Type.Array(refTo(item)),
    meta: Type.Object({
      next_cursor: {
        ...Type.String({ description: 'For the next page; null on the last. Opaque.' }),
        type: ['string', 'null'],
      },
      limit: Type.Integer({ description: 'The page size in effect.', examples: [25] }),
    }),
  });
  return {
    ...successResponses('A page of the list.', page, ['X-Sync-Watermark']),
    ...errorResponses({ detail: false }),
  };
}

/** One record, if there is one. Its schema is named by its `$id`. */
export function detailResponses(record: TSchema): ResponseSchemas {
  return { ...successResponses('The record.', refTo(record)), ...errorResponses({ detail: true }) };
}

/** One object that is always there, such as a count. Its schema is named by its `$id`. */
export function objectResponses(object: TSchema): ResponseSchemas {
  return { ...successResponses('The answer.', refTo(object)), ...errorResponses({ detail: false }) };
}

/** What `/health` answers: without a key there are neither limits nor tags. */
export function healthResponses(health: TSchema): ResponseSchemas {
  return {
    200: {
      description: 'The answer.',
      headers: headersNamed([]),
      content: { [JSON_MEDIA]: { schema: refTo(health) } },
    },
    400: errorResponse('validation_failed', BAD_REQUEST, []),
  };
}

/** The errors that any route under /v1 may answer with; those of a `detail` may find no record. */
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
    429: errorResponse('rate_limited', 'Too many requests.', ['Retry-After', ...LIMIT_HEADERS]),
    500: errorResponse('internal_error', 'Something failed on our side.', LIMIT_HEADERS),
  };
}

function successResponses(description: string, schema: TSchema, more: readonly HeaderName[] = []): ResponseSchemas {
  const headers = headersNamed(['ETag', ...LIMIT_HEADERS, ...more]);
  return {
    200: { description, headers, content: { [JSON_MEDIA]: { schema } } },
    304: { description: 'Nothing changed since the answer that `If-None-Match` names.', headers, type: 'null' },
  };
}

function errorResponse(code: ErrorCode, meaning: string, headers: readonly HeaderName[]): ResponseSchema {
  // A plain text: the reference shows it within a button, where no link may stand. The codes' description has them.
  const description = `${meaning} ${ERROR_PAGES_PATH}/${code} says what to do.`;
  return { description, headers: headersNamed(headers), content: { [JSON_MEDIA]: { schema: refTo(errorSchema) } } };
}

/** `addOpenApi` puts references to {@link HEADERS} in their places. */
function headersNamed(names: readonly HeaderName[]): Record<string, object> {
  return Object.fromEntries(['X-Request-ID', ...names].map((name) => [name, {}]));
}

/** As Fastify names a schema that was added to it. */
function refTo(schema: TSchema): TSchema {
  if (!('$id' in schema)) throw new Error('the schema of a response needs an $id, its name in the OpenAPI document');
  return Type.Ref(`${String(schema.$id)}#`);
}

function header(description: string, schema: object): { description: string; schema: object } {
  return { description, schema };
}
