/** Every code that an error can carry. Clients may decide by them; messages are for people. */
export const ERROR_CODES = [
  'unauthorized',
  'forbidden',
  'not_found',
  'rate_limited',
  'validation_failed',
  'internal_error',
] as const;

/** Where the documentation has a page for each code. */
export const ERROR_PAGES_PATH = '/docs/errors';

export type ErrorCode = (typeof ERROR_CODES)[number];

/** The methods that the service answers. */
export const ALLOWED_METHODS = 'GET, HEAD';

/** What is refused for want of time is asked again after so long: by then, others have been refused or answered. */
const OVERLOAD_RETRY_SECONDS = 1;

/** An answer that is an error. Thrown anywhere in a request; `http/error-handling.ts` sends it. */
export class ApiError extends Error {
  override name = 'ApiError';
  readonly status: number;
  readonly code: ErrorCode;
  /** Sent along with it. */
  readonly headers: Readonly<Record<string, string>>;

  constructor(status: number, code: ErrorCode, message: string, headers: Readonly<Record<string, string>> = {}) {
    super(message);
    this.status = status;
    this.code = code;
    this.headers = headers;
  }
}

/** The body that every error is sent with. */
export function renderError(error: ApiError, requestId: string): string {
  return JSON.stringify({ error: { code: error.code, message: error.message, request_id: requestId } });
}

/** 401: one answer whatever is wrong with the key, so that it tells a guesser nothing. */
export function unauthorized(): ApiError {
  return new ApiError(
    401,
    'unauthorized',
    'This needs a valid API key of this environment, sent once as "Authorization: Bearer <API_KEY>".',
    { 'WWW-Authenticate': 'Bearer' },
  );
}

/** 403: the key is good, but its partner may not ask this at all. */
export function forbidden(message: string): ApiError {
  return new ApiError(403, 'forbidden', message);
}

/** 404 of a record: the same where it does not exist and where the partner may not see it. */
export function notFound(): ApiError {
  return new ApiError(404, 'not_found', 'There is no such record, or it is not in the scope of your key.');
}

/** 404 of a path that the service does not have. */
export function unknownPath(): ApiError {
  return new ApiError(
    404,
    'not_found',
    'There is nothing at this path. The paths of the interface are in /openapi.json, and explained at /docs.',
  );
}

/** 405: the path is right, the method is not. */
export function methodNotAllowed(): ApiError {
  return new ApiError(
    405,
    'validation_failed',
    'Everything here is read with GET (or HEAD); other methods do nothing.',
    {
      Allow: ALLOWED_METHODS,
    },
  );
}

/** 400: something in the request is wrong; the message says what, and what is accepted. */
export function validationFailed(message: string): ApiError {
  return new ApiError(400, 'validation_failed', message);
}

/** 429, with the whole seconds after which another request will be answered. */
export function rateLimited(retryAfterSeconds: number): ApiError {
  return new ApiError(
    429,
    'rate_limited',
    `Too many requests: try again in ${retryAfterSeconds} s, as the Retry-After header says.`,
    { 'Retry-After': String(retryAfterSeconds) },
  );
}

/** 429 for an address from which too many requests came without a valid key; valid keys are not limited by it. */
export function tooManyFailures(retryAfterSeconds: number): ApiError {
  return new ApiError(
    429,
    'rate_limited',
    'Too many requests without a valid API key came from this address. This is not the request limit of a partner, and ' +
      `requests with a valid key are still answered: correct the key, or try again in ${retryAfterSeconds} s, as the ` +
      'Retry-After header says.',
    { 'Retry-After': String(retryAfterSeconds) },
  );
}

/** For who counts how often there was too much to do. */
export class OverloadedError extends ApiError {}

/** 429: more was asked, by all together, than this process carries. The interface has no other status for it. */
export function overloaded(): OverloadedError {
  return new OverloadedError(
    429,
    'rate_limited',
    `The service has more to do than it can carry at this moment: try again in ${OVERLOAD_RETRY_SECONDS} s, as the ` +
      'Retry-After header says. Your own limit is another, and stands in the RateLimit header.',
    { 'Retry-After': String(OVERLOAD_RETRY_SECONDS) },
  );
}

/** 500: the cause stands in the log under the request's id, never here. */
export function internalError(): ApiError {
  return new ApiError(
    500,
    'internal_error',
    'Something failed on our side. Try again in a moment; if it goes on, tell us the request_id.',
  );
}
