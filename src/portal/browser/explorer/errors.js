// What went wrong, in words that say what to do.

/** An answer that is no 200. */
export class AnswerError extends Error {
  /**
   * @param {number} status
   * @param {{ code?: unknown, message?: unknown } | null} body the envelope's `error`; null where it is no answer of
   *   the interface's
   * @param {Headers} headers
   */
  constructor(status, body, headers) {
    super(typeof body?.message === 'string' ? body.message : `An answer with the status ${status}.`);
    this.status = status;
    this.code = typeof body?.code === 'string' ? body.code : null;
    this.requestId = headers.get('x-request-id');
    const retryAfter = headers.get('retry-after') ?? '';
    /** Whole seconds to wait; null where the answer does not say. */
    this.retryAfterSeconds = /^\d+$/.test(retryAfter) ? Number(retryAfter) : null;
  }
}

/** No answer at all: no network, or no service. It carries nothing of what the browser said, which may hold the key. */
export class NoAnswerError extends Error {}

/**
 * @typedef {object} Problem
 * @property {string} title
 * @property {string} advice
 * @property {string | null} requestId to be quoted to whoever runs the service
 * @property {boolean} mayPass whether asking the same again may be of use
 * @property {number} waitSeconds before that
 */

/** What a status says to the owner of a key; the service's own message says the rest. @type {Readonly<Record<number, string>>} */
const TITLES = {
  400: 'The service did not understand this (400).',
  401: 'The service does not accept this key (401).',
  403: 'The key is good, but you may not see this (403).',
  404: 'Nothing is here (404).',
  429: 'Too many requests (429).',
};

/** The service says the same whatever is wrong with a key; its owner can try what it may be. */
const WRONG_KEY =
  'It may be mistyped or cut short, revoked or expired, or of another environment: keys that begin with pds_live_ ' +
  'work in production, those with pds_test_ in UAT and dev.';

/**
 * @param {unknown} error anything thrown while a view was made
 * @returns {Problem}
 */
export function explain(error) {
  const passing = { requestId: null, mayPass: true, waitSeconds: 0 };
  if (error instanceof NoAnswerError) {
    const advice = 'The service or the network is away. Look at your connection, then try again.';
    return { ...passing, title: 'No answer came.', advice };
  }
  if (!(error instanceof AnswerError)) {
    const advice = 'Reload the page. If it goes on, tell whoever runs the service what you looked at.';
    return { ...passing, title: 'This view failed.', advice };
  }
  const { status, code, message, requestId, retryAfterSeconds } = error;
  if (code === null) {
    const title = `Something other than the service answered (${status}).`;
    return { ...passing, title, advice: 'A proxy in between, most likely. Try again in a moment.', requestId };
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
