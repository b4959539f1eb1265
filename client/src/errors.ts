/** The base class of all errors thrown by this package. */
export class PartnerDataError extends Error {
  override name = 'PartnerDataError';
}

/** The contents of an error response. */
export interface ApiErrorDetails {
  /** The HTTP status. */
  readonly status: number;
  /** A stable identifier to branch on, such as `not_found`. */
  readonly code: string;
  readonly message: string;
  /** Quote it when you contact support. */
  readonly requestId: string | null;
}

/** An error response from the service. Each known code has its own subclass. */
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

/** 400 or 405, `validation_failed`: a parameter is unknown or malformed. The message names it and what is accepted. */
export class ValidationFailedError extends ApiError {
  override name = 'ValidationFailedError';
}

/** 401, `unauthorized`: the key is missing, malformed, unknown, revoked, expired or for another environment. */
export class UnauthorizedError extends ApiError {
  override name = 'UnauthorizedError';
}

/** 403, `forbidden`: your access is suspended or does not include this resource. */
export class ForbiddenError extends ApiError {
  override name = 'ForbiddenError';
}

/** 404, `not_found`: no such record is visible to you. */
export class NotFoundError extends ApiError {
  override name = 'NotFoundError';
}

/** 429, `rate_limited`: too many requests. Thrown once the retries are used up or `Retry-After` is too long. */
export class RateLimitedError extends ApiError {
  override name = 'RateLimitedError';
  /** How long to wait before the next request; null if the response has no readable `Retry-After`. */
  readonly retryAfterSeconds: number | null;

  constructor(details: ApiErrorDetails, retryAfterSeconds: number | null) {
    super(details);
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

/** 500, `internal_error`: the service failed, and so did the retries. */
export class InternalServerError extends ApiError {
  override name = 'InternalServerError';
}

/** A response that did not come from the service, such as a proxy's error page or a redirect. */
export class UnexpectedAnswerError extends PartnerDataError {
  override name = 'UnexpectedAnswerError';
  readonly status: number;

  constructor(status: number, message: string, options?: ErrorOptions) {
    super(message, options);
    this.status = status;
  }
}

/** No complete response arrived: the address is wrong, the network is down or the connection broke. See `cause`. */
export class ConnectionError extends PartnerDataError {
  override name = 'ConnectionError';
}

/** No complete response arrived within `timeoutMs`. */
export class TimeoutError extends PartnerDataError {
  override name = 'TimeoutError';
}

/** The caller's `AbortSignal` was aborted. `cause` is the signal's reason. */
export class AbortedError extends PartnerDataError {
  override name = 'AbortedError';
}
