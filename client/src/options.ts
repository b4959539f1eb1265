import type { AnswerCache } from './cache.ts';
import type { KeyExpiry } from './key-expiry.ts';
import type { RateLimit } from './rate-limit.ts';
import { DEFAULT_RETRIES, type RetryOptions } from './retries.ts';

/** Metadata of one HTTP response, error responses included. Never contains the API key. */
export interface AnswerInfo {
  /** The path and query that were requested. */
  readonly path: string;
  readonly status: number;
  readonly requestId: string | null;
  readonly rateLimit: RateLimit | null;
  /** 1 for the first attempt. */
  readonly attempt: number;
}

export interface ClientOptions {
  /** Such as `https://api.example.com`; may include a path. */
  readonly baseUrl: string;
  /** Sent only in the `Authorization` header. */
  readonly apiKey: string;
  /** Default: the platform's `fetch`. */
  readonly fetch?: typeof fetch | undefined;
  /** For one attempt, including the body. Default: 30,000. */
  readonly timeoutMs?: number | undefined;
  /** `false` disables retries. */
  readonly retry?: Partial<RetryOptions> | false | undefined;
  /** Enables conditional requests. Default: none. */
  readonly cache?: AnswerCache | undefined;
  /** Called for each HTTP response, before it is processed. An error it throws ends the request. */
  readonly onAnswer?: ((answer: AnswerInfo) => void) | undefined;
  /**
   * Called when the service announces the end of the key: 30 days before, or when it was rotated. Once for each end. An
   * error it throws ends the request. Default: a line to `console.warn`.
   */
  readonly onKeyExpiring?: ((expiry: KeyExpiry) => void) | undefined;
}

/** The validated options, with defaults filled in. */
export interface Settings extends Pick<ClientOptions, 'apiKey' | 'cache' | 'onAnswer' | 'onKeyExpiring'> {
  /** `baseUrl` without a trailing slash. */
  readonly base: string;
  readonly fetch: typeof fetch;
  readonly timeoutMs: number;
  readonly retry: RetryOptions;
}

/** 11.5 days. A timer longer than 2^31 - 1 ms (24.8 days) fires immediately. */
const MAX_DURATION_MS = 1_000_000_000;

/** @throws TypeError that names the wrong option and never contains the key. */
export function readOptions(options: ClientOptions): Settings {
  const { baseUrl, apiKey, fetch, timeoutMs = 30_000, retry = {}, ...more } = options;
  const { cache, onAnswer, onKeyExpiring, ...others } = more;
  // Otherwise, a misspelled option would be silently ignored.
  for (const name of Object.keys(others)) throw new TypeError(`${name} is not an option`);
  for (const [name, value] of Object.entries({ fetch, onAnswer, onKeyExpiring })) expectFunction(name, value);
  if (cache !== undefined)
    for (const name of ['get', 'set'])
      expectFunction(`cache.${name}`, (cache as unknown as Record<string, unknown>)[name], true);
  // Anything but visible ASCII would make `fetch` fail on each request, with the key in the error message.
  if (typeof apiKey !== 'string' || !/^[!-~]+$/.test(apiKey))
    throw new TypeError('apiKey must be an API key, exactly as issued');
  return {
    base: readBaseUrl('baseUrl', baseUrl),
    apiKey,
    // Browsers throw "Illegal invocation" if `fetch` is called as a method of another object.
    fetch: fetch ?? ((input, init) => globalThis.fetch(input, init)),
    timeoutMs: between(1, timeoutMs, MAX_DURATION_MS, 'timeoutMs'),
    retry: readRetryOptions(retry === false ? { retries: 0 } : retry),
    cache,
    onAnswer,
    onKeyExpiring,
  };
}

/**
 * Normalizes a base URL: lower-case host, no default port, no trailing slash.
 *
 * @throws TypeError that begins with `name`.
 */
export function readBaseUrl(name: string, baseUrl: string): string {
  const url = URL.canParse(baseUrl) ? new URL(baseUrl) : null;
  if (url === null || !/^https?:$/.test(url.protocol))
    throw new TypeError(`${name} must be an absolute URL, such as https://api.example.com`);
  if (url.username + url.password + url.search + url.hash !== '')
    throw new TypeError(`${name} must not contain a user, a password, a query or a fragment`);
  return url.origin + url.pathname.replace(/\/+$/, '');
}

function readRetryOptions(given: Partial<RetryOptions>): RetryOptions {
  const retry: { -readonly [Name in keyof RetryOptions]: number } = { ...DEFAULT_RETRIES };
  for (const [name, value] of Object.entries<number | undefined>(given)) {
    if (!Object.hasOwn(retry, name)) throw new TypeError(`retry.${name} is not an option`);
    if (value !== undefined) retry[name as keyof RetryOptions] = between(0, value, MAX_DURATION_MS, `retry.${name}`);
  }
  if (!Number.isInteger(retry.retries)) throw new TypeError('retry.retries must be a whole number');
  return retry;
}

function expectFunction(name: string, value: unknown, isNeeded = false): void {
  if (typeof value !== 'function' && (isNeeded || value !== undefined))
    throw new TypeError(`${name} must be a function`);
}

function between(min: number, value: number, max: number, name: string): number {
  // Written as an inclusion test because NaN must be refused too.
  if (typeof value === 'number' && value >= min && value <= max) return value;
  throw new TypeError(`${name} must be a number from ${min} to ${max}`);
}
