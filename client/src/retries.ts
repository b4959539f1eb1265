import { AbortedError } from './errors.ts';

/** How often and when what failed for a moment is asked again. */
export interface RetryOptions {
  /** Besides the first attempt. */
  readonly retries: number;
  /** The first pause is at most this, and each later one at most twice the one before. */
  readonly minDelayMs: number;
  readonly maxDelayMs: number;
  /** A `Retry-After` of more than this is not waited for: the error is thrown at once. */
  readonly longestRetryAfterMs: number;
}

/** Enough for a limit of so many a minute to begin anew. */
export const DEFAULT_RETRIES: RetryOptions = {
  retries: 4,
  minDelayMs: 250,
  maxDelayMs: 10_000,
  longestRetryAfterMs: 90_000,
};

/**
 * The pause before a retry: anything up to twice the last bound, so that many clients that failed together do not
 * come back together; never less than the service asked for.
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
export function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  const { promise, resolve, reject } = deferred();
  const abort = (): void => reject(abortedBy(signal));
  if (signal?.aborted === true) return Promise.reject(abortedBy(signal));
  const timer = setTimeout(resolve, ms);
  signal?.addEventListener('abort', abort, { once: true });
  return promise.finally(() => {
    clearTimeout(timer);
    signal?.removeEventListener('abort', abort);
  });
}

export function abortedBy(signal: AbortSignal | undefined): AbortedError {
  return new AbortedError('The request was aborted.', { cause: signal?.reason });
}

/** `Promise.withResolvers`, which Node 20 does not have. */
function deferred(): { promise: Promise<void>; resolve: () => void; reject: (reason: Error) => void } {
  let resolve!: () => void;
  let reject!: (reason: Error) => void;
  const promise = new Promise<void>((onResolve, onReject) => {
    resolve = onResolve;
    reject = onReject;
  });
  return { promise, resolve, reject };
}
