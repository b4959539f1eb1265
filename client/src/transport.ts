import { apiErrorOf, ConnectionError, TimeoutError, UnexpectedAnswerError, type PartnerDataError } from './errors.ts';
import { readOptions, type AnswerInfo, type ClientOptions, type Settings } from './options.ts';
import { readRateLimit, readRetryAfter } from './rate-limit.ts';
import { pause, pauseBefore, throwIfAborted } from './retries.ts';

export interface RequestOptions {
  /** Ends the request, and whatever waits for it: a pause before a retry, or the rest of a body. */
  readonly signal?: AbortSignal | undefined;
}

/** A good answer. */
export interface Answer<T> {
  readonly data: T;
  readonly headers: Headers;
  readonly info: AnswerInfo;
}

/**
 * Statuses after which the same request may be answered well: too many requests, a failure of the service, and a
 * proxy that does not reach it at the moment. All others say that the request is wrong, and stay.
 */
const PASSING_STATUSES: readonly number[] = [429, 500, 502, 503, 504];

/** An attempt that may be made again: the error to throw where it is not. */
interface Failure {
  readonly error: PartnerDataError;
  readonly retryAfterMs: number | null;
}

/** Asks the service, again where that may help, and reads its answers. */
export class Transport {
  readonly #settings: Settings;

  /** @throws TypeError where an option is wrong. */
  constructor(options: ClientOptions) {
    this.#settings = readOptions(options);
  }

  /**
   * The JSON object that the service has at a path.
   *
   * @param target path and query.
   * @throws ApiError, UnexpectedAnswerError, ConnectionError, TimeoutError, AbortedError.
   */
  async get<T extends object>(target: string, { signal }: RequestOptions = {}): Promise<Answer<T>> {
    for (let attempt = 1; ; attempt += 1) {
      const outcome = await this.#attempt<T>(target, attempt, signal);
      if (!('error' in outcome)) return outcome;
      const pauseMs = pauseBefore(attempt, outcome.retryAfterMs, this.#settings.retry);
      if (pauseMs === null) throw outcome.error;
      await pause(pauseMs, signal);
    }
  }

  async #attempt<T extends object>(
    target: string,
    attempt: number,
    signal: AbortSignal | undefined,
  ): Promise<Answer<T> | Failure> {
    const { apiKey, cache, onAnswer } = this.#settings;
    const kept = await cache?.get(target);
    const headers: Record<string, string> = { authorization: `Bearer ${apiKey}`, accept: 'application/json' };
    if (kept !== undefined) headers['if-none-match'] = kept.etag;
    const received = await this.#receive(target, headers, signal);
    if ('error' in received) return received;
    const { response, body } = received;
    const { status } = response;
    const requestId = response.headers.get('x-request-id');
    const info = { path: target, status, requestId, rateLimit: readRateLimit(response.headers), attempt };
    onAnswer?.(info);
    const isKept = status === 304 && kept !== undefined;
    if (status !== 200 && !isKept) return this.#refuse(target, response, body);
    const data = parseObject(isKept ? kept.body : body, target, status) as T;
    const etag = response.headers.get('etag');
    if (!isKept && etag !== null) await cache?.set(target, { etag, body });
    return { data, headers: response.headers, info };
  }

  /** Sends the request, and receives the whole of its answer. */
  async #receive(
    target: string,
    headers: Record<string, string>,
    signal: AbortSignal | undefined,
  ): Promise<{ response: Response; body: string } | Failure> {
    const { base, ask, timeoutMs } = this.#settings;
    // A signal that was aborted before tells no listener.
    throwIfAborted(signal);
    // Not AbortSignal.any and AbortSignal.timeout, which the first versions of Node 20 lack or lose.
    const ended = new AbortController();
    const end = (): void => ended.abort();
    const timer = setTimeout(end, timeoutMs);
    signal?.addEventListener('abort', end, { once: true });
    try {
      // A redirect could carry the key to another host.
      const response = await ask(base + target, { headers, signal: ended.signal, redirect: 'manual' });
      return { response, body: await response.text() };
    } catch (cause) {
      throwIfAborted(signal);
      const error = ended.signal.aborted
        ? new TimeoutError(`${target}: no complete answer from ${base} within ${timeoutMs} ms`)
        : new ConnectionError(`${target}: no complete answer from ${base}`, { cause });
      return { error, retryAfterMs: null };
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener('abort', end);
    }
  }

  /** The failure that may be tried again, or throws what may not. */
  #refuse(target: string, { status, headers }: Response, body: string): Failure {
    const retryAfterSeconds = readRetryAfter(headers, Date.now());
    const said = readErrorBody(body);
    const error =
      said === null
        ? new UnexpectedAnswerError(status, `${target}: ${this.#unexpected(status)}`)
        : apiErrorOf({ ...said, status, requestId: headers.get('x-request-id') ?? said.requestId }, retryAfterSeconds);
    if (!PASSING_STATUSES.includes(status)) throw error;
    return { error, retryAfterMs: retryAfterSeconds === null ? null : retryAfterSeconds * 1_000 };
  }

  #unexpected(status: number): string {
    const { base } = this.#settings;
    // Browsers show no more of a redirect than that it is none of the other answers.
    return status === 0 || (status > 300 && status < 400 && status !== 304)
      ? `${base} redirects, which is not followed, since it could carry the key elsewhere: correct baseUrl`
      : `${status} from ${base}, which is no answer of the service: is baseUrl right, and does a proxy stand between?`;
  }
}

function parseObject(text: string, target: string, status: number): object {
  let data: unknown;
  let cause: unknown;
  try {
    data = JSON.parse(text);
  } catch (error) {
    cause = error;
  }
  if (typeof data === 'object' && data !== null) return data;
  throw new UnexpectedAnswerError(status, `${target}: the answer is no JSON object of the service`, { cause });
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
