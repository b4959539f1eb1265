// The one place that knows the key, and the one that asks the service.

import { AnswerError, NoAnswerError } from './errors.js';

/**
 * What is left of the partner's requests, as the RateLimit headers of an answer tell it.
 *
 * @typedef {object} Quota
 * @property {number} quota requests in a window
 * @property {number} remaining
 * @property {number} resetSeconds until the window ends
 */

/** What keys are made of. With other characters `fetch` can throw, and its message repeats the key. */
const SENDABLE = /^[\w-]+$/;

/** For an answer that does not come; the slowest good ones take a few seconds. */
const MAX_WAIT_MS = 30_000;

/** Asks with one key, which lives as long as this object and stands nowhere else. */
export class Session {
  #key;
  #onQuota;
  #onRefused;
  /** How far the service's clock is ahead of this machine's; null before the first answer. @type {number | null} */
  #aheadMs = null;

  /**
   * @param {string} key
   * @param {(quota: Quota) => void} onQuota is told after each answer that carries it
   * @param {(error: AnswerError) => void} onRefused is told when the service does not accept the key, or no longer
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
   * The body of a 200.
   *
   * @param {string} path with its query
   * @param {AbortSignal} signal
   * @returns {Promise<any>} as the interface describes it
   * @throws {AnswerError} where it is another status, or no answer of the interface's
   * @throws {NoAnswerError} where there is none
   */
  async ask(path, signal) {
    const answer = await this.#fetch(path, signal);
    const quota = readQuota(answer.headers);
    if (quota !== null) this.#onQuota(quota);
    const answeredAtMs = Date.parse(answer.headers.get('date') ?? '');
    this.#aheadMs = Number.isNaN(answeredAtMs) ? 0 : answeredAtMs - Date.now();
    const body = await readBody(answer, signal);
    if (answer.status === 200 && body !== null) return body;
    const error = new AnswerError(answer.status, body?.error ?? null, answer.headers);
    if (error.status === 401) this.#onRefused(error);
    throw error;
  }

  /**
   * The service's time, which decides what is open, to the second: this machine's clock may be wrong.
   *
   * @param {AbortSignal} signal
   * @returns {Promise<number>} milliseconds since 1970
   */
  async now(signal) {
    // Any answer tells it; this one costs no request of the partner's.
    if (this.#aheadMs === null) await this.ask('/health', signal);
    return Date.now() + (this.#aheadMs ?? 0);
  }

  /** @param {string} path @param {AbortSignal} signal */
  async #fetch(path, signal) {
    try {
      return await fetch(path, {
        headers: { Authorization: `Bearer ${this.#key}` },
        // Neither the records nor a digest of the key (by Vary: Authorization) is to stay on the partner's disk.
        cache: 'no-store',
        credentials: 'omit',
        redirect: 'error',
        signal: AbortSignal.any([signal, AbortSignal.timeout(MAX_WAIT_MS)]),
      });
    } catch {
      signal.throwIfAborted();
      throw new NoAnswerError();
    }
  }
}

/** @param {Response} answer @param {AbortSignal} signal @returns {Promise<any>} null where it is no JSON */
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
 * `RateLimit-Policy: "partner";q=600;w=60` and `RateLimit: "partner";r=595;t=60`.
 *
 * @param {Headers} headers
 * @returns {Quota | null}
 */
function readQuota(headers) {
  const quota = /;\s*q=(\d+)/.exec(headers.get('ratelimit-policy') ?? '')?.[1];
  const remaining = /;\s*r=(\d+)/.exec(headers.get('ratelimit') ?? '')?.[1];
  const resetSeconds = /;\s*t=(\d+)/.exec(headers.get('ratelimit') ?? '')?.[1];
  if (quota === undefined || remaining === undefined || resetSeconds === undefined) return null;
  return { quota: Number(quota), remaining: Number(remaining), resetSeconds: Number(resetSeconds) };
}
