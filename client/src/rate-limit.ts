/** The partner's rate limit as of one response, shared by all of its keys and programs. */
export interface RateLimit {
  /** Requests per window. */
  readonly quota: number;
  readonly windowSeconds: number;
  /** Requests left in this window. */
  readonly remaining: number;
  /** Seconds until the next window begins. */
  readonly resetSeconds: number;
}

/**
 * Reads `RateLimit` and `RateLimit-Policy` (draft-ietf-httpapi-ratelimit-headers).
 *
 * @returns null if the response lacks them, for example because the key was not accepted.
 */
export function readRateLimit(headers: Headers): RateLimit | null {
  const { q: quota, w: windowSeconds } = parametersOf(headers.get('ratelimit-policy'));
  const { r: remaining, t: resetSeconds } = parametersOf(headers.get('ratelimit'));
  if (quota === undefined || windowSeconds === undefined || remaining === undefined || resetSeconds === undefined)
    return null;
  return { quota, windowSeconds, remaining, resetSeconds };
}

/** The numeric parameters of `"partner";q=600;w=60`. Only the first of several comma-separated items is read. */
function parametersOf(value: string | null): Partial<Record<string, number>> {
  const found = (value ?? '').split(',')[0]?.matchAll(/;\s*([a-z]+)=(\d+)/g) ?? [];
  return Object.fromEntries(Array.from(found, ([, name = '', number]) => [name, Number(number)]));
}

/**
 * Reads `Retry-After` (RFC 9110, section 10.2.3), given in seconds or as a date.
 *
 * @returns seconds from now, at least 0; null if the header is missing or unreadable.
 */
export function readRetryAfter(headers: Headers, nowMs: number): number | null {
  const value = headers.get('retry-after')?.trim() ?? '';
  if (/^\d+$/.test(value)) return Number(value);
  // An HTTP date begins with a day name. Without that check, `Date.parse` would accept text such as "-5".
  const atMs = /^[A-Za-z]/.test(value) ? Date.parse(value) : NaN;
  return Number.isNaN(atMs) ? null : Math.max(0, (atMs - nowMs) / 1_000);
}
