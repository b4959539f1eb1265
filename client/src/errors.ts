/** What all errors of this package have in common. */
export class PartnerDataError extends Error {
  override name = 'PartnerDataError';
}

/** What the service said, and how. */
export interface ApiErrorDetails {
  /** The HTTP status. */
  readonly status: number;
  /** What programs may decide by, such as `not_found`. */
  readonly code: string;
  readonly message: string;
  /** To be quoted to whoever runs the service. */
  readonly requestId: string | null;
}

/** An answer of the service that is an error. Each code has a class of its own. */
export class ApiError extends PartnerDataError {
  override name = 'ApiError';
  readonly status: number;
  readonly code: string;
  readonly requestId: string | null;

  constructor({ status, code, message, requestId }: ApiErrorDetails) {
    super(message);
    this.status = status;
    this.code = code;
    this.requestId = requestId;
  }
}

/** 400 or 405, `validation_failed`: a parameter is unknown or malformed; the message says which, and what is accepted. */
export class ValidationFailedError extends ApiError {
  override name = 'ValidationFailedError';
}

/** 401, `unauthorized`: the key is missing, malformed, unknown, revoked, expired or of another environment. */
export class UnauthorizedError extends ApiError {
  override name = 'UnauthorizedError';
}

/** 403, `forbidden`: your access is suspended, or does not include this kind of resource. */
export class ForbiddenError extends ApiError {
  override name = 'ForbiddenError';
}

/** 404, `not_found`: there is no such record in what you see. */
export class NotFoundError extends ApiError {
  override name = 'NotFoundError';
}

/** 429, `rate_limited`: too many requests, also after as many retries as were allowed. */
export class RateLimitedError extends ApiError {
  override name = 'RateLimitedError';
  /** When to ask again; null where the answer did not say. */
  readonly retryAfterSeconds: number | null;

  constructor(details: ApiErrorDetails, retryAfterSeconds: number | null) {
    super(details);
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

/** 500, `internal_error`: something failed on the side of the service, also after retries. */
export class InternalServerError extends ApiError {
  override name = 'InternalServerError';
}

/** An answer that is not the service's, such as the page of a proxy on the way. */
export class UnexpectedAnswerError extends PartnerDataError {
  override name = 'UnexpectedAnswerError';
  readonly status: number;

  constructor(status: number, message: string, options?: ErrorOptions) {
    super(message, options);
    this.status = status;
  }
}

/** No answer came: the address is wrong, the network is away, or the connection broke. The cause tells. */
export class ConnectionError extends PartnerDataError {
  override name = 'ConnectionError';
}

/** No complete answer came in time. */
export class TimeoutError extends PartnerDataError {
  override name = 'TimeoutError';
}

/** The caller's `AbortSignal` ended it; its reason is the cause. */
export class AbortedError extends PartnerDataError {
  override name = 'AbortedError';
}

const CLASSES: ReadonlyMap<string, new (details: ApiErrorDetails) => ApiError> = new Map([
  ['validation_failed', ValidationFailedError],
  ['unauthorized', UnauthorizedError],
  ['forbidden', ForbiddenError],
  ['not_found', NotFoundError],
  ['internal_error', InternalServerError],
]);

/** The error of an answer's code; `ApiError` itself for a code that this version does not know. */
export function apiErrorOf(details: ApiErrorDetails, retryAfterSeconds: number | null): ApiError {
  if (details.code === 'rate_limited') return new RateLimitedError(details, retryAfterSeconds);
  return new (CLASSES.get(details.code) ?? ApiError)(details);
}
