import {
  ApiError,
  ConnectionError,
  ForbiddenError,
  InternalServerError,
  NotFoundError,
  RateLimitedError,
  TimeoutError,
  UnauthorizedError,
  UnexpectedAnswerError,
  ValidationFailedError,
  type ApiErrorDetails,
  type PartnerDataError,
} from './errors.ts';
import { watchKeyExpiry } from './key-expiry.ts';
import { readOptions, type AnswerInfo, type ClientOptions, type Settings } from './options.ts';
import { readRateLimit, readRetryAfter } from './rate-limit.ts';
import { pause, pauseBefore, throwIfAborted } from './retries.ts';

export interface RequestOptions {
  /** Aborts the request at any stage, including a delay before a retry and the rest of a body. */
  readonly signal?: AbortSignal | undefined;
}

/** A successful response. */
export interface Answer<T> {
  readonly data: T;
  readonly headers: Headers;
  readonly info: AnswerInfo;
}

/**
 * Transient statuses, which are retried: rate limit (429), service failure (500), and a proxy that cannot reach the
 * service (502, 503, 504). With any other status, a retry would fail the same way.
 */
const RETRYABLE_STATUSES: readonly number[] = [429, 500, 502, 503, 504];

const JSON_TYPE = 'application/json';

/** Of one response, decompressed: half of what fits into a string, and 26 KiB for each of 10,000 records in a piece. */
const MAX_BODY_BYTES = 256 * 2 ** 20;

/** A request for a text. */
export interface TextRequest {
  /** Path and query. */
  readonly target: string;
  /** The media type, which the response must have. */
  readonly type: string;
  /** Sent as `If-None-Match`: if the text is unchanged, the response has the status 304 and no text. */
  readonly etag?: string | null;
}

/** A complete response of any status. */
interface Received {
  readonly response: Response;
  readonly body: string;
}

/** A failed attempt that can be retried, with the error to throw if it is not. */
interface Failure {
  readonly error: PartnerDataError;
  readonly retryAfterMs: number | null;
}

/** Sends requests, retries transient failures, and parses responses. */
export class Transport {
  readonly #settings: Settings;
  readonly #onPause: (error: PartnerDataError, pauseMs: number) => void;
  readonly #noteKeyExpiry: (headers: Headers) => void;

  /**
   * @param onPause called before each pause that precedes a retry.
   * @throws TypeError if an option is unknown or invalid.
   */
  constructor(options: ClientOptions, onPause: (error: PartnerDataError, pauseMs: number) => void = () => undefined) {
    this.#settings = readOptions(options);
    this.#onPause = onPause;
    this.#noteKeyExpiry = watchKeyExpiry(this.#settings.apiKey, this.#settings.onKeyExpiring);
  }

  /**
   * Fetches the JSON object at a path.
   *
   * @param target path and query.
   * @throws ApiError, UnexpectedAnswerError, ConnectionError, TimeoutError, AbortedError.
   */
  async get<T extends object>(target: string, options?: RequestOptions): Promise<Answer<T>> {
    const cached = await this.#settings.cache?.get(target);
    const request = { target, type: JSON_TYPE, etag: cached?.etag ?? null };
    const answer = await this.getText(request, options, (text) => text);
    const isCached = answer.info.status === 304 && cached !== undefined;
    const text = isCached ? cached.body : answer.data;
    const etag = answer.headers.get('etag');
    if (!isCached && etag !== null) await this.#settings.cache?.set(target, { etag, body: text });
    return { ...answer, data: parseObject(text, target, answer.info.status) as T };
  }

  /**
   * Fetches text, which is not cached. Throws as `get` does.
   *
   * @param parse throws if the text is not whole: the request is then retried.
   */
  async getText<T>(
    request: TextRequest,
    { signal }: RequestOptions = {},
    parse: (text: string) => T,
  ): Promise<Answer<T>> {
    for (let attempt = 1; ; attempt += 1) {
      const received = await this.#receive(request, signal);
      const outcome = 'error' in received ? received : this.#read(request, received, attempt, parse);
      if (!('error' in outcome)) return outcome;
      const pauseMs = pauseBefore(attempt, outcome.retryAfterMs, this.#settings.retry);
      if (pauseMs === null) throw outcome.error;
      this.#onPause(outcome.error, pauseMs);
      await pause(pauseMs, signal);
    }
  }

  #read<T>(
    { target, type, etag = null }: TextRequest,
    { response, body }: Received,
    attempt: number,
    parse: (text: string) => T,
  ): Answer<T> | Failure {
    const { status, headers } = response;
    const requestId = headers.get('x-request-id');
    const info = { path: target, status, requestId, rateLimit: readRateLimit(headers), attempt };
    this.#settings.onAnswer?.(info);
    this.#noteKeyExpiry(headers);
    if (status !== 200 && !(status === 304 && etag !== null)) return this.#refuse(target, response, body);
    try {
      // JSON of any type is accepted, as from a proxy.
      if (type !== JSON_TYPE && status === 200 && headers.get('content-type')?.startsWith(type) !== true)
        throw new Error(`is not ${type}`);
      return { data: parse(body), headers, info };
    } catch (cause) {
      const message = `${target}: the response ${(cause as Error).message}`;
      return { error: new UnexpectedAnswerError(status, message, { cause }), retryAfterMs: null };
    }
  }

  /** Sends the request and reads the complete response. */
  async #receive(
    { target, type, etag = null }: TextRequest,
    signal: AbortSignal | undefined,
  ): Promise<Received | Failure> {
    const { apiKey, base, fetch, timeoutMs } = this.#settings;
    const headers: Record<string, string> = { authorization: `Bearer ${apiKey}`, accept: type };
    if (etag !== null) headers['if-none-match'] = etag;
    // Node asks for gzip, which costs the service twice as much. Every version decodes both.
    if (type !== JSON_TYPE) headers['accept-encoding'] = 'br, gzip';
    // An already aborted signal fires no event.
    throwIfAborted(signal);
    // Not AbortSignal.any or AbortSignal.timeout: early Node 20 releases lack `any` or garbage-collect the signals.
    const ended = new AbortController();
    const end = (): void => ended.abort();
    const timer = setTimeout(end, timeoutMs);
    signal?.addEventListener('abort', end, { once: true });
    try {
      // A redirect could carry the key to another host.
      const response = await fetch(base + target, { headers, signal: ended.signal, redirect: 'manual' });
      return { response, body: await readText(response, target) };
    } catch (cause) {
      throwIfAborted(signal);
      if (cause instanceof UnexpectedAnswerError) throw cause;
      const error = ended.signal.aborted
        ? new TimeoutError(`${target}: no complete response from ${base} within ${timeoutMs} ms`)
        : new ConnectionError(`${target}: no complete response from ${base}: ${reasonOf(cause)}`, { cause });
      return { error, retryAfterMs: null };
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener('abort', end);
    }
  }

  /** Returns a failure that can be retried, and throws any other. */
  #refuse(target: string, response: Response, body: string): Failure {
    const { status, headers } = response;
    const retryAfterSeconds = readRetryAfter(headers, Date.now());
    const details = readError(response, body);
    const error =
      details === null
        ? new UnexpectedAnswerError(status, `${target}: ${this.#unexpected(status)}`)
        : apiErrorOf(details, retryAfterSeconds);
    if (!RETRYABLE_STATUSES.includes(status)) throw error;
    return { error, retryAfterMs: retryAfterSeconds === null ? null : retryAfterSeconds * 1_000 };
  }

  #unexpected(status: number): string {
    const { base } = this.#settings;
    // With `redirect: 'manual'`, browsers return an opaque redirect, whose status is 0.
    return status === 0 || (status > 300 && status < 400 && status !== 304)
      ? `${base} returned a redirect. Redirects are not followed, because they could send the key to another host: correct baseUrl`
      : `status ${status} from ${base} is not a response of the service: check baseUrl, and any proxy on the way`;
  }
}

/** @throws UnexpectedAnswerError if the body is longer than any of the service, and may have no end. */
async function readText(response: Response, target: string): Promise<string> {
  // Some responses have no body, and React Native has no streams.
  const reader = (response.body as Response['body'] | undefined)?.getReader();
  if (reader === undefined) return response.text();
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  for (let bytes = 0; ;) {
    const { value, done } = await reader.read();
    if (done) return new Blob(chunks).text();
    bytes += value.length;
    if (bytes > MAX_BODY_BYTES) {
      await reader.cancel();
      const message = `${target}: the response has more than ${MAX_BODY_BYTES / 2 ** 20} MiB`;
      throw new UnexpectedAnswerError(response.status, message);
    }
    chunks.push(value);
  }
}

function parseObject(text: string, target: string, status: number): object {
  let cause: unknown;
  try {
    const data: unknown = JSON.parse(text);
    if (typeof data === 'object' && data !== null) return data;
  } catch (error) {
    cause = error;
  }
  throw new UnexpectedAnswerError(status, `${target}: the response is not a JSON object`, { cause });
}

/** Null if the response is not the service's. */
function readError({ status, headers }: Response, body: string): ApiErrorDetails | null {
  try {
    const { error } = JSON.parse(body) as { error?: { code?: unknown; message?: unknown; request_id?: unknown } };
    if (typeof error?.code !== 'string' || typeof error.message !== 'string') return null;
    const requestId = headers.get('x-request-id') ?? error.request_id;
    const { code, message } = error;
    return { status, code, message, requestId: typeof requestId === 'string' ? requestId : null };
  } catch {
    return null;
  }
}

/** Why `fetch` failed: Node's own message is only "fetch failed", and its cause has the reason. */
function reasonOf(error: unknown): string {
  const { cause = error } = error as { cause?: unknown };
  // If a host has several addresses, the message is empty and the code is the same for all.
  const { message = '', code = '' } = cause as { message?: string; code?: string };
  return message || code || String(error);
}

const CLASSES: ReadonlyMap<string, new (details: ApiErrorDetails) => ApiError> = new Map([
  ['validation_failed', ValidationFailedError],
  ['unauthorized', UnauthorizedError],
  ['forbidden', ForbiddenError],
  ['not_found', NotFoundError],
  ['internal_error', InternalServerError],
]);

/** Creates the error for a response's code; a plain `ApiError` if this version does not know the code. */
export function apiErrorOf(details: ApiErrorDetails, retryAfterSeconds: number | null): ApiError {
  if (details.code === 'rate_limited') return new RateLimitedError(details, retryAfterSeconds);
  return new (CLASSES.get(details.code) ?? ApiError)(details);
}
