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

/** The numbers of `"partner";q=600;w=60`; of several, separated by commas, those of the first. */
function parametersOf(value: string | null): Map<string, number> {
  const [first = ''] = (value ?? '').split(',');
  return new Map(Array.from(first.matchAll(/;\s*([a-z]+)=(\d+)/g), ([, name = '', number]) => [name, Number(number)]));
}

/**
 * Reads `Retry-After` (RFC 9110, section 10.2.3): seconds, or a date.
 *
 * @returns seconds from now, never less than 0; null where there is none that can be read.
 */
export function readRetryAfter(headers: Headers, nowMs: number): number | null {
  const value = headers.get('retry-after')?.trim() ?? '';
  if (/^\d+$/.test(value)) return Number(value);
  // A date begins with its day of the week; otherwise much is taken for one, such as -5.
  const atMs = /^[A-Za-z]/.test(value) ? Date.parse(value) : NaN;
  return Number.isNaN(atMs) ? null : Math.max(0, (atMs - nowMs) / 1_000);
}
