import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify';
import type { RefusedKey } from '../../access/partner-directory.ts';
import { DatabaseBusyError } from '../../database/database.ts';
import { JSON_TYPE, REQUEST_ID_HEADER } from './send-text.ts';

/** Every error code. Clients can branch on codes; messages are for people. */
export const ERROR_CODES = [
  'unauthorized',
  'forbidden',
  'not_found',
  'rate_limited',
  'validation_failed',
  'internal_error',
] as const;

/** The documentation has a page for each code under this path. */
export const ERROR_PAGES_PATH = '/docs/errors';

export type ErrorCode = (typeof ERROR_CODES)[number];

const STREAM_RETRY_SECONDS = 5;

/** Retry-After of an overload: by then the backlog has been served or refused. */
const OVERLOAD_RETRY_SECONDS = 1;

/** An error response. Throw it anywhere in a request; `sendError` sends it. */
export class ApiError extends Error {
  readonly status: number;
  readonly code: ErrorCode;
  readonly headers: Readonly<Record<string, string>>;
  /** Fields of the request's log line. Never sent, and without text of the client's, which can be a secret. */
  readonly logged: Readonly<Record<string, string>>;

  constructor(
    status: number,
    code: ErrorCode,
    message: string,
    headers: Readonly<Record<string, string>> = {},
    logged: Readonly<Record<string, string>> = {},
  ) {
    super(message);
    this.status = status;
    this.code = code;
    this.headers = headers;
    const [firstSentence = ''] = message.split(/(?<=\.) /, 1);
    this.logged = { code, reason: firstSentence, ...logged };
  }
}

/** The body that every error is sent with. */
export function renderError(error: ApiError, requestId: string): string {
  return JSON.stringify({ error: { code: error.code, message: error.message, request_id: requestId } });
}

/** A key that is not accepted. Only the log names it; nobody knows whose a missing or unknown key is. */
type LoggedKey = RefusedKey | { readonly keyState: 'missing' | 'unknown' };

/** 401: the same response whatever is wrong with the key, to give nothing away to a guesser. `key` is only logged. */
export function unauthorized(key?: LoggedKey): ApiError {
  return new ApiError(
    401,
    'unauthorized',
    'A valid API key of this environment is required, sent once as "Authorization: Bearer <API_KEY>".',
    { 'WWW-Authenticate': 'Bearer' },
    { ...key },
  );
}

/** 403: the key is valid, but its partner has no access to this resource. */
export function forbidden(message: string): ApiError {
  return new ApiError(403, 'forbidden', message);
}

/** 404 for a record: the same whether it does not exist or the partner may not see it. */
export function notFound(): ApiError {
  return new ApiError(404, 'not_found', 'No such record, or your key cannot see it.');
}

/** 404 for a path that is not a route. */
export function unknownPath(): ApiError {
  return new ApiError(404, 'not_found', 'No such path. All paths are in /openapi.json and documented at /docs.');
}

/** 405: the path exists, but not for this method. */
export function methodNotAllowed(): ApiError {
  return new ApiError(405, 'validation_failed', 'Only GET and HEAD are supported.', { Allow: 'GET, HEAD' });
}

/** 400: the message says what is wrong, and what is accepted. If it quotes the client, `reason` is logged instead. */
export function validationFailed(message: string, reason?: string): ApiError {
  return new ApiError(400, 'validation_failed', message, {}, reason === undefined ? {} : { reason });
}

/** 429, with the number of whole seconds after which to retry. */
function tooManyRequests(message: string, retrySeconds: number, key?: LoggedKey): ApiError {
  return new ApiError(429, 'rate_limited', message, { 'Retry-After': String(retrySeconds) }, { ...key });
}

const inSeconds = (seconds: number): string => `in ${seconds} s (see the Retry-After header).`;

/** 429: the partner has exceeded its limit. */
export function rateLimited(retrySeconds: number): ApiError {
  return tooManyRequests(`Too many requests. Try again ${inSeconds(retrySeconds)}`, retrySeconds);
}

/** 429 for an address that sent too many requests without a valid key; requests with a valid key are not affected. */
export function tooManyFailures(retrySeconds: number, key: LoggedKey): ApiError {
  const message =
    'Too many requests without a valid API key from this address. Requests with a valid key still work. Correct the ' +
    `key, or try again ${inSeconds(retrySeconds)}`;
  return tooManyRequests(message, retrySeconds, key);
}

/** 429: the process is overloaded by all partners together. The API has no 503. */
export function overloaded(): ApiError {
  const message = `The service is overloaded. Try again ${inSeconds(OVERLOAD_RETRY_SECONDS)} Your own limit is in the RateLimit header.`;
  return tooManyRequests(message, OVERLOAD_RETRY_SECONDS);
}

/** 429: the partner has as many streams open in this process as it can have. */
export function tooManyStreams(open: number): ApiError {
  const message = `Your ${open} other streams must end first. Try again ${inSeconds(STREAM_RETRY_SECONDS)}`;
  return tooManyRequests(message, STREAM_RETRY_SECONDS);
}

/** Sends an error in the envelope. Causes that are not for the partner are only logged, under the request ID. */
export function sendError(error: unknown, request: FastifyRequest, reply: FastifyReply): void {
  const apiError = toApiError(error);
  if (error instanceof DatabaseBusyError) request.server.admission.countRefusal();
  if (apiError.status >= 500) request.log.error({ requestId: request.id, err: error }, 'the request failed');
  else request.refusal = apiError;
  void reply
    .code(apiError.status)
    .header(REQUEST_ID_HEADER, request.id)
    .headers(apiError.headers)
    .type(JSON_TYPE)
    .send(renderError(apiError, request.id));
}

function toApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  if (error instanceof DatabaseBusyError) return overloaded();
  const { statusCode } = error as Partial<FastifyError>;
  // Fastify's own 4xx errors (414, 415, …) are about the request; the API has one status for all of them.
  if (statusCode !== undefined && statusCode >= 400 && statusCode < 500) {
    return validationFailed('The request cannot be parsed.');
  }
  return new ApiError(
    500,
    'internal_error',
    'Something failed on our side. Try again in a moment. If it persists, contact support with the request_id.',
  );
}
