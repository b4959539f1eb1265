// Sends all requests to the service. No other module stores the key.

import { AnswerError, NoAnswerError } from './errors.js';

/**
 * The partner's remaining requests, from the RateLimit headers of a response.
 *
 * @typedef {object} Quota
 * @property {number} quota requests in a window
 * @property {number} remaining
 * @property {number} resetSeconds until the window ends
 */

/** The characters of a key. With others `fetch` can throw an error whose message contains the key. */
const SENDABLE = /^[\w-]+$/;

/** Request timeout. The slowest successful responses take a few seconds. */
const MAX_WAIT_MS = 30_000;

/** Sends requests with one key, which is stored only here and lives as long as this object. */
export class Session {
  #key;
  #onQuota;
  #onRefused;
  /** How far the service's clock is ahead of this machine's, by the latest response. */
  #aheadMs = 0;
  /** The `X-Sync-Watermark` of the latest list; null before. @type {string | null} */
  watermark = null;

  /**
   * @param {string} key
   * @param {(quota: Quota) => void} onQuota called after each response with RateLimit headers
   * @param {(error: AnswerError) => void} onRefused called if the service rejects the key (401)
   */
  constructor(key, onQuota, onRefused) {
    this.#key = key;
    this.#onQuota = onQuota;
    this.#onRefused = onRefused;
  }

  /** @param {string} key */
  static isSendable(key) {
    return SENDABLE.test(key);
  }

  /**
   * Sends a GET request. Rejects with the signal's reason if it is aborted.
   *
   * @param {string} path with its query
   * @param {AbortSignal} signal
   * @returns {Promise<any>} the body of a 200, as the API describes it
   * @throws {AnswerError} for any other status, or a body that is not JSON
   * @throws {NoAnswerError} if no complete response arrives within `MAX_WAIT_MS`, or the network fails
   */
  async ask(path, signal) {
    const answer = await this.#fetch(path, AbortSignal.any([signal, AbortSignal.timeout(MAX_WAIT_MS)]), signal);
    const body = await readBody(answer, signal);
    if (answer.status === 200 && body !== null) return body;
    throw this.#refused(answer, body);
  }

  /**
   * Reads a list as a stream, which takes as long as it takes. Rejects with the signal's reason if it is aborted.
   *
   * @param {string} path with its query
   * @param {'text/csv' | 'application/x-ndjson'} type that the query requests
   * @param {AbortSignal} signal
   * @returns {AsyncGenerator<Uint8Array<ArrayBuffer>>} the list in pieces
   * @throws {AnswerError} for any status but 200, or a body of another type
   * @throws {NoAnswerError} if the network fails, or the list is cut
   */
  async *readStream(path, type, signal) {
    const answer = await this.#fetch(path, signal, signal);
    const isStream = answer.status === 200 && answer.headers.get('content-type')?.startsWith(type) === true;
    if (!isStream || answer.body === null) throw this.#refused(answer, await readBody(answer, signal));
    const reader = answer.body.getReader();
    for (;;) {
      const { done, value } = await reader.read().catch(() => {
        signal.throwIfAborted();
        throw new NoAnswerError();
      });
      if (done) return;
      yield value;
    }
  }

  /** @param {Response} answer @param {any} body */
  #refused(answer, body) {
    const error = new AnswerError(answer.status, body?.error ?? null, answer.headers);
    if (error.status === 401) this.#onRefused(error);
    return error;
  }

  /**
   * The service's time, accurate to the second: it decides what is open, and this machine's clock can be wrong.
   *
   * @returns {number} milliseconds since 1970
   */
  now() {
    return Date.now() + this.#aheadMs;
  }

  /** @param {string} path @param {AbortSignal} until ends the request @param {AbortSignal} signal ends the view */
  async #fetch(path, until, signal) {
    const answer = await fetch(path, {
      headers: { Authorization: `Bearer ${this.#key}` },
      // Keeps the records, and a digest of the key (because of Vary: Authorization), off the partner's disk.
      cache: 'no-store',
      credentials: 'omit',
      redirect: 'error',
      signal: until,
    }).catch(() => {
      signal.throwIfAborted();
      throw new NoAnswerError();
    });
    const quota = readQuota(answer.headers);
    if (quota !== null) this.#onQuota(quota);
    this.watermark = answer.headers.get('x-sync-watermark') ?? this.watermark;
    const answeredAtMs = Date.parse(answer.headers.get('date') ?? '');
    this.#aheadMs = Number.isNaN(answeredAtMs) ? 0 : answeredAtMs - Date.now();
    return answer;
  }
}

/** @param {Response} answer @param {AbortSignal} signal @returns {Promise<any>} null if it is not JSON */
async function readBody(answer, signal) {
  try {
    return await answer.json();
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof SyntaxError) return null;
    throw new NoAnswerError();
  }
}

/**
 * Parses `RateLimit-Policy: "partner";q=600;w=60` and `RateLimit: "partner";r=595;t=60`.
 *
 * @param {Headers} headers
 * @returns {Quota | null} null if a value is missing
 */
function readQuota(headers) {
  const quota = /;\s*q=(\d+)/.exec(headers.get('ratelimit-policy') ?? '')?.[1];
  const remaining = /;\s*r=(\d+)/.exec(headers.get('ratelimit') ?? '')?.[1];
  const resetSeconds = /;\s*t=(\d+)/.exec(headers.get('ratelimit') ?? '')?.[1];
  if (quota === undefined || remaining === undefined || resetSeconds === undefined) return null;
  return { quota: Number(quota), remaining: Number(remaining), resetSeconds: Number(resetSeconds) };
}
