import type { AnswerCache } from './cache.ts';
import type { RateLimit } from './rate-limit.ts';
import { DEFAULT_RETRIES, type RetryOptions } from './retries.ts';

/** What is known of an HTTP answer, errors included. Holds no key. */
export interface AnswerInfo {
  /** Path and query, as they were asked for. */
  readonly path: string;
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
  readonly fetch?: typeof fetch | undefined;
  /** For one attempt, its body included; 30 seconds unless said otherwise. */
  readonly timeoutMs?: number | undefined;
  /** `false` for none. */
  readonly retry?: Partial<RetryOptions> | false | undefined;
  /** For conditional requests; none unless said otherwise. */
  readonly cache?: AnswerCache | undefined;
  /** Is told of each HTTP answer, before it is used. What it throws ends the request. */
  readonly onAnswer?: ((answer: AnswerInfo) => void) | undefined;
}

/** The options, checked, and with all that was left out. */
export interface Settings {
  /** Without a slash at its end. */
  readonly base: string;
  readonly apiKey: string;
  readonly ask: typeof fetch;
  readonly timeoutMs: number;
  readonly retry: RetryOptions;
  readonly cache: AnswerCache | undefined;
  readonly onAnswer: ((answer: AnswerInfo) => void) | undefined;
}

const DEFAULT_TIMEOUT_MS = 30_000;

/** Eleven days. Timers that are set for more than 24 of them end at once. */
const LONGEST_MS = 1_000_000_000;

/** @throws TypeError that says which option is wrong, and repeats no key. */
export function readOptions(options: ClientOptions): Settings {
  const { baseUrl, apiKey, fetch, timeoutMs = DEFAULT_TIMEOUT_MS, retry = {}, cache, onAnswer, ...others } = options;
  refuseUnknown('', others);
  expectFunction('fetch', fetch);
  expectFunction('onAnswer', onAnswer);
  if (cache !== undefined)
    for (const name of ['get', 'set'])
      expectFunction(`cache.${name}`, (cache as unknown as Record<string, unknown>)[name], true);
  // What is not visible ASCII would fail at each request, with a message that holds the key.
  if (typeof apiKey !== 'string' || !/^[!-~]+$/.test(apiKey))
    throw new TypeError('apiKey has to be a key, as it was given to you');
  return {
    base: readBaseUrl('baseUrl', baseUrl),
    apiKey,
    // Browsers refuse to have it called as a method of another object.
    ask: fetch ?? ((input, init) => globalThis.fetch(input, init)),
    timeoutMs: between(1, timeoutMs, LONGEST_MS, 'timeoutMs'),
    retry: readRetryOptions(retry === false ? { retries: 0 } : retry),
    cache,
    onAnswer,
  };
}

/**
 * The base URL in one form, whatever its host's case, its port and its last slash were.
 *
 * @throws TypeError that begins with `name`.
 */
export function readBaseUrl(name: string, baseUrl: string): string {
  const url = URL.canParse(baseUrl) ? new URL(baseUrl) : null;
  if (url === null || !/^https?:$/.test(url.protocol))
    throw new TypeError(`${name} has to be an absolute URL, such as https://api.example.com`);
  if (url.username + url.password + url.search + url.hash !== '')
    throw new TypeError(`${name} has to be without a user, a password, a query and a fragment`);
  return url.origin + url.pathname.replace(/\/+$/, '');
}

function readRetryOptions(given: Partial<RetryOptions>): RetryOptions {
  const {
    retries = DEFAULT_RETRIES.retries,
    minDelayMs = DEFAULT_RETRIES.minDelayMs,
    maxDelayMs = DEFAULT_RETRIES.maxDelayMs,
    longestRetryAfterMs = DEFAULT_RETRIES.longestRetryAfterMs,
    ...others
  } = given;
  refuseUnknown('retry.', others);
  if (!Number.isSafeInteger(retries)) throw new TypeError('retry.retries has to be a whole number');
  return {
    retries: between(0, retries, Number.MAX_SAFE_INTEGER, 'retry.retries'),
    minDelayMs: between(0, minDelayMs, LONGEST_MS, 'retry.minDelayMs'),
    maxDelayMs: between(0, maxDelayMs, LONGEST_MS, 'retry.maxDelayMs'),
    longestRetryAfterMs: between(0, longestRetryAfterMs, LONGEST_MS, 'retry.longestRetryAfterMs'),
  };
}

/** A name that is mistyped would otherwise change nothing, without a word. */
function refuseUnknown(prefix: string, others: object): void {
  for (const name of Object.keys(others)) throw new TypeError(`${prefix}${name} is no option`);
}

function expectFunction(name: string, value: unknown, isNeeded = false): void {
  if (typeof value !== 'function' && (isNeeded || value !== undefined))
    throw new TypeError(`${name} has to be a function`);
}

function between(least: number, value: number, most: number, name: string): number {
  // Written so that NaN, which is neither smaller nor greater, is refused too.
  if (typeof value === 'number' && value >= least && value <= most) return value;
  throw new TypeError(`${name} has to be a number from ${least} to ${most}`);
}
