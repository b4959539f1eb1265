import { AbortedError } from './errors.ts';

/** How often, and after which pauses, what failed for a moment is asked for again. */
export interface RetryOptions {
  /** Besides the first attempt; 4 unless said otherwise. */
  readonly retries: number;
  /** The first pause is at most this, and each later one at most twice the one before; 250 unless said otherwise. */
  readonly minDelayMs: number;
  /** No pause is longer, unless the service asks for it; 10,000 unless said otherwise. */
  readonly maxDelayMs: number;
  /** A `Retry-After` of more than this is not waited for: the error is thrown at once. 90,000 unless said otherwise. */
  readonly longestRetryAfterMs: number;
}

/** With them a `Retry-After` is waited for until a limit of so many a minute begins anew. */
export const DEFAULT_RETRIES: RetryOptions = {
  retries: 4,
  minDelayMs: 250,
  maxDelayMs: 10_000,
  longestRetryAfterMs: 90_000,
};

/**
 * The pause before a retry: anything up to a bound that doubles, so that many clients that failed together do not come
 * back together; never less than the service asked for.
 *
 * @param retry 1 for the first.
 * @param retryAfterMs what the answer asked for; null where it did not.
 * @returns null where there is to be no retry.
 */
export function pauseBefore(
  retry: number,
  retryAfterMs: number | null,
  { retries, minDelayMs, maxDelayMs, longestRetryAfterMs }: RetryOptions,
  random: () => number = Math.random,
): number | null {
  if (retry > retries) return null;
  const jitterMs = random() * Math.min(maxDelayMs, minDelayMs * 2 ** (retry - 1));
  if (retryAfterMs === null) return jitterMs;
  return retryAfterMs > longestRetryAfterMs ? null : retryAfterMs + Math.min(jitterMs, minDelayMs);
}

/** @throws AbortedError as soon as the signal says so. */
export async function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  throwIfAborted(signal);
  await new Promise<void>((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal?.addEventListener('abort', end);
  });
  throwIfAborted(signal);
}

/** @throws AbortedError where the signal was aborted. */
export function throwIfAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted === true) throw new AbortedError('The caller aborted the request.', { cause: signal.reason });
}
