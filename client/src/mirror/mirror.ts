import {
  ConnectionError,
  InternalServerError,
  NotFoundError,
  RateLimitedError,
  TimeoutError,
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
import { StoppedError, sync, type MirrorRuntime, type SyncContext } from './sync.ts';

/** The clock is checked at least this often. */
const MAX_PAUSE_MS = 60_000;

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
  const { baseUrl, apiKey, onChange, watchMs } = options;
  const { type, path } = options.store;
  const store = await (type === 'sqlite' ? SqliteStore : NdjsonStore).open(path, baseUrl);
  try {
    const { service } = store.state;
    // With a watermark from another service, the copy would silently miss changes.
    if (service !== baseUrl)
      throw new CopyError(`${path} is a copy of ${service}. For a copy of ${baseUrl}, choose another path`);
    const onKeyExpiring = (expiry: KeyExpiry): void => runtime.notify(keyExpiryText(expiry));
    const transport = new Transport({ baseUrl, apiKey, retry: RETRIES, timeoutMs: TIMEOUT_MS, onKeyExpiring });
    const context = { ...runtime, transport, store };
    const syncOnce = async (): Promise<void> => {
      const report = await sync(context);
      const { isChanged, isFirstCopy } = report;
      if (onChange !== null && isChanged && !isFirstCopy) await runOnChange(onChange, store.listUnreported());
      runtime.onReport(report, store.listUnreported());
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

/** Syncs every `everyMs` until stopped. Transient failures are reported and retried at the next interval. */
async function repeat(context: SyncContext, everyMs: number, syncOnce: () => Promise<void>): Promise<void> {
  for (;;) {
    // Monotonic, because the wall clock can be set meanwhile.
    const nextAtMs = performance.now() + everyMs;
    try {
      await syncOnce();
    } catch (error) {
      context.onProgress(null);
      if (context.stop.aborted || !TRANSIENT.some((type) => error instanceof type)) throw error;
      context.onFailure(error, Math.max(0, nextAtMs - performance.now()));
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

/** After these, the next sync can succeed without intervention. */
const TRANSIENT = [
  ConnectionError,
  TimeoutError,
  InternalServerError,
  // A server of version 1.2, in the middle of an upgrade.
  NotFoundError,
  RateLimitedError,
  UnexpectedAnswerError,
  BusyCopyError,
  CommandError,
];
