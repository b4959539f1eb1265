import {
  ConnectionError,
  ForbiddenError,
  InternalServerError,
  RateLimitedError,
  TimeoutError,
  UnauthorizedError,
  UnexpectedAnswerError,
} from '../errors.ts';
import { keyExpiryText, type KeyExpiry } from '../key-expiry.ts';
import { pause } from '../retries.ts';
import { Transport } from '../transport.ts';
import { NdjsonStore } from './ndjson/ndjson-store.ts';
import { CommandError, runOnChange } from './on-change.ts';
import type { MirrorOptions } from './options.ts';
import { SqliteStore } from './sqlite/sqlite-store.ts';
import { BusyCopyError, CopyError } from './store.ts';
import { StoppedError, SuspendedError, sync, type MirrorRuntime, type SyncContext, type SyncReport } from './sync.ts';

/** The clock is checked at least this often. */
const MAX_PAUSE_MS = 60_000;

/** Pauses from here on are reported, such as those until the limit has requests left. */
const MIN_REPORTED_PAUSE_MS = 5_000;

/** Enough to survive a service restart: the delays add up to 18 seconds on average, at most 36. */
const RETRIES = { retries: 8, minDelayMs: 250, maxDelayMs: 10_000 };

/** A piece of 10,000 records, compressed about a megabyte, arrives in time on a slow line too. */
const TIMEOUT_MS = 120_000;

/**
 * Syncs a copy once, or with `--watch` until it is stopped.
 *
 * @throws the client's errors, CopyError, CommandError, StoppedError if a single sync was stopped.
 */
export async function runMirror(options: MirrorOptions, runtime: MirrorRuntime): Promise<void> {
  const { baseUrl, apiKey, onChange, watchMs, maxAgeMs } = options;
  const { type, path } = options.store;
  const store = await (type === 'sqlite' ? SqliteStore : NdjsonStore).open(path, baseUrl);
  try {
    const { service } = store.state;
    // With a watermark from another service, the copy would silently miss changes.
    if (service !== baseUrl)
      throw new CopyError(`${path} is a copy of ${service}. For a copy of ${baseUrl}, choose another path`);
    const onKeyExpiring = (expiry: KeyExpiry): void => runtime.notify(keyExpiryText(expiry));
    const transport = new Transport(
      { baseUrl, apiKey, retry: RETRIES, timeoutMs: TIMEOUT_MS, onKeyExpiring },
      (error, pauseMs) => {
        if (pauseMs >= MIN_REPORTED_PAUSE_MS) runtime.onPause(error, pauseMs);
      },
    );
    const context = { ...runtime, transport, store };
    let isOld = false;
    /** Warns once, until the service has checked its data again. */
    const warnIfOld = ({ dataCheckedAt }: SyncReport): void => {
      const wasOld = isOld;
      isOld = maxAgeMs !== null && runtime.clock() - Date.parse(dataCheckedAt ?? '') > maxAgeMs;
      if (isOld && !wasOld)
        runtime.notify(`warning: the service last checked its data at ${dataCheckedAt}; the copy may be out of date`);
    };
    const syncOnce = async (): Promise<void> => {
      const report = await sync(context);
      const { isChanged, isFirstCopy } = report;
      if (onChange !== null && isChanged && !isFirstCopy)
        await runOnChange(onChange, store.listUnreported(), runtime.clock());
      runtime.onReport(report, store.listUnreported());
      warnIfOld(report);
      // Not earlier, so that changes whose report was interrupted are reported by the next run.
      if (isChanged || isFirstCopy) store.forgetUnreported();
    };
    if (watchMs === null) await syncOnce();
    else await repeat(context, watchMs, syncOnce);
  } catch (error) {
    if (!runtime.stop.aborted) throw error;
    if (watchMs === null) throw new StoppedError('stopped; the next run continues from here', { cause: error });
  } finally {
    store.close();
  }
}

/** Syncs every `everyMs` until stopped. Failures that can end without the mirror are reported, and retried. */
async function repeat(context: SyncContext, everyMs: number, syncOnce: () => Promise<void>): Promise<void> {
  let hasFailed = false;
  let refusal: string | null = null;
  for (;;) {
    // Monotonic, because the wall clock can be set meanwhile.
    let nextAtMs = performance.now() + everyMs;
    try {
      await syncOnce();
      if (hasFailed) context.notify('works again');
      [hasFailed, refusal] = [false, null];
    } catch (error) {
      context.onProgress(null);
      const isRefused = REFUSED.some((type) => error instanceof type);
      const isTransient = TRANSIENT.some((type) => error instanceof type);
      if (context.stop.aborted || !(isRefused || isTransient)) throw error;
      const nowMs = performance.now();
      if (isRefused) nextAtMs = Math.max(nextAtMs, nowMs + context.refusedPauseMs);
      const { message } = error as Error;
      context.onFailure(error, Math.max(0, nextAtMs - nowMs), isRefused && message === refusal);
      hasFailed = true;
      if (isRefused) refusal = message;
    }
    await waitUntil(context, nextAtMs);
  }
}

/** Waits, updating `is_open` at each deadline. Checks the wall clock at least once a minute because it can be set. */
async function waitUntil({ store, clock, stop }: SyncContext, atMs: number): Promise<void> {
  for (;;) {
    const untilMs = Math.max(0, store.refreshOpen(clock()) - clock());
    const leftMs = atMs - performance.now();
    if (leftMs <= 0) return;
    await pause(Math.min(leftMs, untilMs, MAX_PAUSE_MS), stop);
  }
}

/** After these, a sync succeeds once the provider of the service has lifted them. */
const REFUSED = [UnauthorizedError, ForbiddenError, SuspendedError];

/** After these, the next sync can succeed without intervention. */
const TRANSIENT = [
  ConnectionError,
  TimeoutError,
  InternalServerError,
  RateLimitedError,
  UnexpectedAnswerError,
  BusyCopyError,
  CommandError,
];
