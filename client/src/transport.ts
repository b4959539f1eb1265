import type { AnswerCache } from './cache.ts';
import { apiErrorOf, ConnectionError, PartnerDataError, TimeoutError, UnexpectedAnswerError } from './errors.ts';
import { readRateLimit, readRetryAfter, type RateLimit } from './rate-limit.ts';
import { abortedBy, DEFAULT_RETRIES, pause, pauseBefore, type RetryOptions } from './retries.ts';

/** What is known of an HTTP answer, errors included. Holds no key. */
export interface AnswerInfo {
  /** Path and query. */
  readonly target: string;
  readonly status: number;
  readonly requestId: string | null;
  readonly rateLimit: RateLimit | null;
  /** 1 for the first. */
  readonly attempt: number;
}

export interface ClientOptions {
  /** Such as `https://api.example.com`; a path in it is kept. */
  readonly baseUrl: string;
  /** Sent in the `Authorization` header, and nowhere else. */
  readonly apiKey: string;
  /** The platform's, unless said otherwise. */
  readonly fetch?: typeof fetch;
  /** For one attempt, its body included; 30 seconds unless said otherwise. */
  readonly timeoutMs?: number;
  /** `false` for none. */
  readonly retry?: Partial<RetryOptions> | false;
  /** For conditional requests; none unless said otherwise. */
  readonly cache?: AnswerCache;
  /** Is told of each HTTP answer, before it is used. */
  readonly onAnswer?: (answer: AnswerInfo) => void;
}

export interface RequestOptions {
  /** Ends the request, and whatever waits for it. */
  readonly signal?: AbortSignal;
}

/** A good answer. */
export interface Answer<T> {
  readonly data: T;
  readonly headers: Headers;
  readonly info: AnswerInfo;
}

const DEFAULT_TIMEOUT_MS = 30_000;

/** Of a proxy that does not reach the service at the moment: they say nothing about the request. */
const PASSING_STATUSES = [502, 503, 504];

/** An attempt that may be made again: the error to throw where it is not. */
interface Failure {
  readonly error: PartnerDataError;
  readonly retryAfterMs: number | null;
}

/** Asks the service, again where that may help, and reads its answers. */
export class Transport {
  readonly #base: string;
  readonly #options: ClientOptions;
  readonly #retry: RetryOptions;

  /** @throws TypeError where the base URL or the key is none. */
  constructor(options: ClientOptions) {
    const { baseUrl, apiKey, retry = {} } = options;
    const url = URL.canParse(baseUrl) ? new URL(baseUrl) : null;
    if (url === null || !/^https?:$/.test(url.protocol))
      throw new TypeError('baseUrl has to be an absolute URL, such as https://api.example.com');
    // What is not visible ASCII would fail at each request, with a message that holds the key.
    if (!/^[!-~]+$/.test(apiKey)) throw new TypeError('apiKey has to be a key as you were given it');
    this.#base = url.origin + url.pathname.replace(/\/+$/, '');
    this.#options = options;
    this.#retry = retry === false ? { ...DEFAULT_RETRIES, retries: 0 } : { ...DEFAULT_RETRIES, ...retry };
  }

  /**
   * The JSON that the service has at a path.
   *
   * @param target path and query.
   * @throws ApiError, UnexpectedAnswerError, ConnectionError, TimeoutError, AbortedError.
   */
  async get<T>(target: string, { signal }: RequestOptions = {}): Promise<Answer<T>> {
    for (let attempt = 1; ; attempt += 1) {
      if (signal?.aborted === true) throw abortedBy(signal);
      const outcome = await this.#attempt<T>(target, attempt, signal);
      if (!('error' in outcome)) return outcome;
      const pauseMs = pauseBefore(attempt, outcome.retryAfterMs, this.#retry);
      if (pauseMs === null) throw outcome.error;
      await pause(pauseMs, signal);
    }
  }

  async #attempt<T>(target: string, attempt: number, signal: AbortSignal | undefined): Promise<Answer<T> | Failure> {
    const { fetch: ask = globalThis.fetch, timeoutMs = DEFAULT_TIMEOUT_MS, apiKey, cache, onAnswer } = this.#options;
    const kept = await cache?.get(target);
    const headers: Record<string, string> = { authorization: `Bearer ${apiKey}`, accept: 'application/json' };
    if (kept !== undefined) headers['if-none-match'] = kept.etag;
    const ended = new AbortController();
    const end = (): void => ended.abort();
    const timer = setTimeout(end, timeoutMs);
    signal?.addEventListener('abort', end, { once: true });
    let response: Response;
    let body: string;
    try {
      // A redirect could carry the key to another host.
      response = await ask(this.#base + target, { headers, signal: ended.signal, redirect: 'manual' });
      body = await response.text();
    } catch (cause) {
      if (signal?.aborted === true) throw abortedBy(signal);
      const error = ended.signal.aborted
        ? new TimeoutError(`${target}: no complete answer within ${timeoutMs} ms`)
        : new ConnectionError(`${target}: no answer from ${this.#base}`, { cause });
      return { error, retryAfterMs: null };
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener('abort', end);
    }
    const { status } = response;
    const requestId = response.headers.get('x-request-id');
    const info = { target, status, requestId, rateLimit: readRateLimit(response.headers), attempt };
    onAnswer?.(info);
    if (status === 200 || (status === 304 && kept !== undefined)) {
      const text = status === 304 ? (kept?.body ?? '') : body;
      const data = parse(text, target, status) as T;
      const etag = response.headers.get('etag');
      if (status === 200 && etag !== null) await cache?.set(target, { etag, body });
      return { data, headers: response.headers, info };
    }
    return this.#refuse(target, response, body, requestId);
  }

  /** The failure that may be tried again, or throws what may not. */
  #refuse(target: string, { status, headers }: Response, body: string, requestId: string | null): Failure {
    const retryAfterSeconds = readRetryAfter(headers, Date.now());
    const retryAfterMs = retryAfterSeconds === null ? null : retryAfterSeconds * 1_000;
    const said = readErrorBody(body);
    if (said === null) {
      const error = new UnexpectedAnswerError(
        status,
        `${target}: ${status} from ${this.#base}, not in the form of the service's errors`,
      );
      if (PASSING_STATUSES.includes(status)) return { error, retryAfterMs };
      throw error;
    }
    const error = apiErrorOf({ ...said, status, requestId: requestId ?? said.requestId }, retryAfterSeconds);
    if (status === 429 || status === 500 || PASSING_STATUSES.includes(status)) return { error, retryAfterMs };
    throw error;
  }
}

function parse(text: string, target: string, status: number): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (cause) {
    throw new UnexpectedAnswerError(status, `${target}: the answer is no JSON`, { cause });
  }
}

function readErrorBody(body: string): { code: string; message: string; requestId: string | null } | null {
  try {
    const { error } = JSON.parse(body) as { error?: { code?: unknown; message?: unknown; request_id?: unknown } };
    if (typeof error?.code !== 'string' || typeof error.message !== 'string') return null;
    const { request_id: id } = error;
    return { code: error.code, message: error.message, requestId: typeof id === 'string' ? id : null };
  } catch {
    return null;
  }
}
