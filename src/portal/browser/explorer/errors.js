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
 * @property {number | null} waitSeconds before asking again is of use
 */

const UNAUTHORIZED = {
  title: 'The service does not accept this key (401).',
  advice:
    'It may be mistyped or cut short, revoked or expired, or of another environment: keys that begin with pds_live_ ' +
    'work in production, those with pds_test_ in UAT and dev.',
};

/**
 * @param {unknown} error anything thrown while a view was made
 * @returns {Problem}
 */
export function explain(error) {
  if (error instanceof NoAnswerError) {
    return problem('No answer came.', 'The service or the network is away. Look at your connection, then try again.');
  }
  if (!(error instanceof AnswerError)) {
    return problem('This page failed.', 'Reload it. If it goes on, tell whoever runs the service what you looked at.');
  }
  const { status, code, message, requestId, retryAfterSeconds } = error;
  if (code === null) {
    return problem(
      `Something other than the service answered (${status}).`,
      'A proxy in between, most likely. Try again in a moment.',
      requestId,
    );
  }
  if (status === 401) return { ...problem(UNAUTHORIZED.title, UNAUTHORIZED.advice, requestId) };
  if (status === 403) {
    return problem('The key is good, but you may not see this (403).', message, requestId);
  }
  if (status === 404) return problem('Nothing is here (404).', message, requestId);
  if (status === 400) return problem('The service did not understand this (400).', message, requestId);
  if (status === 429) {
    const wait = retryAfterSeconds ?? 1;
    const advice = `Wait ${wait} ${wait === 1 ? 'second' : 'seconds'}: the limit of requests is reached.`;
    return { ...problem('Too many requests (429).', advice, requestId), waitSeconds: wait };
  }
  return problem(`The service failed (${status}).`, message, requestId);
}

/** @param {string} title @param {string} advice @param {string | null} requestId @returns {Problem} */
function problem(title, advice, requestId = null) {
  return { title, advice, requestId, waitSeconds: null };
}
