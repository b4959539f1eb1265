/** Where the partner stands, as of one answer: over all of its keys and programs together. */
export interface RateLimit {
  /** Requests in a window. */
  readonly quota: number;
  readonly windowSeconds: number;
  /** Requests that are left in this window. */
  readonly remaining: number;
  /** Until the next window begins. */
  readonly resetSeconds: number;
}

/**
 * Reads `RateLimit` and `RateLimit-Policy` (draft-ietf-httpapi-ratelimit-headers).
 *
 * @returns null where the answer has none, as without a good key.
 */
export function readRateLimit(headers: Headers): RateLimit | null {
  const policy = parametersOf(headers.get('ratelimit-policy'));
  const state = parametersOf(headers.get('ratelimit'));
  const [quota, windowSeconds] = [policy.get('q'), policy.get('w')];
  const [remaining, resetSeconds] = [state.get('r'), state.get('t')];
  if (quota === undefined || windowSeconds === undefined || remaining === undefined || resetSeconds === undefined)
    return null;
  return { quota, windowSeconds, remaining, resetSeconds };
}

/** The numbers of `"partner";q=600;w=60`. */
function parametersOf(value: string | null): Map<string, number> {
  const parameters = new Map<string, number>();
  for (const [, name = '', number = ''] of (value ?? '').matchAll(/;\s*([a-z]+)=(\d+)/g))
    parameters.set(name, Number(number));
  return parameters;
}

/**
 * Reads `Retry-After` (RFC 9110, section 10.2.3): seconds, or a date.
 *
 * @returns seconds from now, never less than 0; null where there is none that can be read.
 */
export function readRetryAfter(headers: Headers, nowMs: number): number | null {
  const value = headers.get('retry-after')?.trim() ?? '';
  if (/^\d+$/.test(value)) return Number(value);
  const atMs = Date.parse(value);
  return Number.isNaN(atMs) ? null : Math.max(0, (atMs - nowMs) / 1_000);
}
