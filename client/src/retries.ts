import { AbortedError } from './errors.ts';

/** How often, and after which delays, transient failures are retried. */
export interface RetryOptions {
  /** Not counting the first attempt. Default: 4. */
  readonly retries: number;
  /** The upper bound of the first delay; it doubles with each retry. Default: 250. */
  readonly minDelayMs: number;
  /** The bound stops doubling here. A longer `Retry-After` takes precedence. Default: 10,000. */
  readonly maxDelayMs: number;
  /** If `Retry-After` is longer than this, the error is thrown at once. Default: 90,000. */
  readonly longestRetryAfterMs: number;
}

/** 90 seconds covers the `Retry-After` of a per-minute rate limit. */
export const DEFAULT_RETRIES: RetryOptions = {
  retries: 4,
  minDelayMs: 250,
  maxDelayMs: 10_000,
  longestRetryAfterMs: 90_000,
};

/**
 * The delay before a retry: exponential backoff with full jitter, so that clients that failed together do not retry
 * together. Never shorter than `Retry-After`.
 *
 * @param retry 1 for the first retry.
 * @param retryAfterMs the response's `Retry-After`; null if it has none.
 * @returns milliseconds; null if the request must not be retried.
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

/** Waits `ms` milliseconds. @throws AbortedError as soon as the signal is aborted. */
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

/** @throws AbortedError if the signal is aborted. */
export function throwIfAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted === true) throw new AbortedError('The caller aborted the request.', { cause: signal.reason });
}
