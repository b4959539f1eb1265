// Errors of the explorer, and the messages that tell a user what went wrong and what to do.

/** A response that is not a 200 with a JSON body. */
export class AnswerError extends Error {
  /**
   * @param {number} status
   * @param {{ code?: unknown, message?: unknown } | null} body the envelope's `error`; null if the response did
   *   not come from the API
   * @param {Headers} headers
   */
  constructor(status, body, headers) {
    super(typeof body?.message === 'string' ? body.message : `A response with status ${status}.`);
    this.status = status;
    this.code = typeof body?.code === 'string' ? body.code : null;
    this.requestId = headers.get('x-request-id');
    const retryAfter = headers.get('retry-after') ?? '';
    /** Whole seconds to wait, from `Retry-After`; null if the response has none. */
    this.retryAfterSeconds = /^\d+$/.test(retryAfter) ? Number(retryAfter) : null;
  }
}

/** No response: the network or the service is down. It omits the browser's own error, which can contain the key. */
export class NoAnswerError extends Error {}

/**
 * @typedef {object} Problem
 * @property {string} title
 * @property {string} advice
 * @property {string | null} requestId to quote to the operators of the service
 * @property {boolean} mayPass whether a retry can succeed
 * @property {number} waitSeconds before a retry
 */

/** Titles by status, for the owner of a key; the service's own message gives the details. @type {Readonly<Record<number, string>>} */
const TITLES = {
  400: 'The service did not accept this request (400).',
  401: 'The service does not accept this key (401).',
  403: 'The key is valid, but has no access to this (403).',
  404: 'Nothing is here (404).',
  429: 'Too many requests (429).',
};

/** The service returns the same message for every rejected key, so this lists the possible causes. */
const WRONG_KEY =
  'It may be mistyped or cut short, revoked or expired, or of another environment: keys that begin with pds_live_ ' +
  'work in production, those with pds_test_ in UAT and dev.';

/**
 * @param {unknown} error anything thrown while rendering a view
 * @returns {Problem}
 */
export function explain(error) {
  const passing = { requestId: null, mayPass: true, waitSeconds: 0 };
  if (error instanceof NoAnswerError) {
    const advice = 'The service or the network is down. Check your connection, then try again.';
    return { ...passing, title: 'No response.', advice };
  }
  if (!(error instanceof AnswerError)) {
    const advice = 'Reload the page. If it persists, report the address of this view to the operators of the service.';
    return { ...passing, title: 'This view failed.', advice };
  }
  const { status, code, message, requestId, retryAfterSeconds } = error;
  if (code === null) {
    const title = `Something other than the service responded (${status}).`;
    return { ...passing, title, advice: 'Probably a proxy. Try again in a moment.', requestId };
  }
  const waitSeconds = retryAfterSeconds ?? 0;
  return {
    title: TITLES[status] ?? `The service failed (${status}).`,
    advice: status === 401 ? WRONG_KEY : message,
    requestId,
    mayPass: status === 429 || status >= 500,
    waitSeconds,
  };
}
