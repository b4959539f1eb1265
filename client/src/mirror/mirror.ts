import { createClient } from '../client.ts';
import {
  ConnectionError,
  InternalServerError,
  RateLimitedError,
  TimeoutError,
  UnexpectedAnswerError,
} from '../errors.ts';
import { keyExpiryText } from '../key-expiry.ts';
import type { RateLimit } from '../rate-limit.ts';
import { pause } from '../retries.ts';
import { DetailTags, StoppedError, type ProgressListener, type SyncContext } from './context.ts';
import { estimateFirstRun, estimateText } from './estimate.ts';
import { NdjsonStore } from './ndjson/ndjson-store.ts';
import type { MirrorOptions } from './options.ts';
import { Pace } from './pace.ts';
import { SqliteStore } from './sqlite/sqlite-store.ts';
import { BusyCopyError, CopyError, type Store } from './store.ts';
import { sync, type SyncReport } from './sync.ts';

/** The callbacks, signals and clock that a mirror runs with. */
export interface MirrorSurroundings {
  /** Graceful stop: no further requests are sent. */
  readonly stop: AbortSignal;
  /** Also aborts the request in flight. */
  readonly abort: AbortSignal;
  readonly progress: ProgressListener & { pause?(ms: number): void };
  readonly tell: (message: string) => void;
  readonly onReport: (report: SyncReport) => void;
  /** With `--watch`: called when a sync failed and will be retried after `retryInMs`. */
  readonly onFailure: (error: unknown, retryInMs: number) => void;
  readonly clock: () => number;
}

/** The clock is checked at least this often. */
const MAX_PAUSE_MS = 60_000;

/** Enough to survive a service restart: the delays add up to 18 seconds on average, at most 36. */
const RETRIES = { retries: 8, minDelayMs: 250, maxDelayMs: 10_000 };

/**
 * Syncs a copy once, or with `--watch` until it is stopped.
 *
 * @throws the client's errors, CopyError, StoppedError if a single sync was stopped.
 */
export async function runMirror(options: MirrorOptions, surroundings: MirrorSurroundings): Promise<void> {
  const { type, path } = options.store;
  const store = await (type === 'sqlite' ? SqliteStore : NdjsonStore).open(path, options.baseUrl);
  try {
    checkService(store, options);
    const { context, limit } = contextOf(options, surroundings, store);
    const syncOnce = async (isRequested: boolean): Promise<SyncReport> => {
      if (store.state.reconciledAt === null) context.tell(estimateText(await estimateFirstRun(context, limit)));
      return sync(context, { isReconciling: isRequested || isDue(context, options), refreshMs: options.refreshMs });
    };
    if (options.watchMs === null) surroundings.onReport(await syncOnce(options.isReconciling));
    else await watch(context, options.isReconciling, options.watchMs, syncOnce, surroundings);
  } catch (error) {
    if (!surroundings.stop.aborted) throw error;
    if (options.watchMs === null) throw new StoppedError('stopped; the next run continues from here', { cause: error });
  } finally {
    await store.close();
  }
}

/** With a watermark from another service, the copy would silently miss changes. */
function checkService({ state }: Store, { baseUrl, store: { path } }: MirrorOptions): void {
  if (state.service !== baseUrl)
    throw new CopyError(`${path} is a copy of ${state.service}. For a copy of ${baseUrl}, choose another path`);
}

function contextOf(
  { baseUrl, apiKey }: MirrorOptions,
  { stop, abort, progress, tell, clock }: MirrorSurroundings,
  store: Store,
): { context: SyncContext; limit: () => RateLimit | null } {
  const [pace, tags] = [new Pace(), new DetailTags()];
  let limit: RateLimit | null = null;
  pace.onPause = (ms) => progress.pause?.(ms);
  const client = createClient({
    baseUrl,
    apiKey,
    retry: RETRIES,
    cache: tags,
    onAnswer: ({ status, rateLimit }) => {
      tags.note(status);
      pace.note(rateLimit);
      limit = rateLimit ?? limit;
    },
    onKeyExpiring: (expiry) => tell(keyExpiryText(expiry)),
  });
  return { context: { client, store, pace, clock, stop, abort, tags, progress, tell }, limit: () => limit };
}

/** Whether the last reconciliation is at least `reconcileEveryMs` ago. */
function isDue({ store, clock }: SyncContext, { reconcileEveryMs }: MirrorOptions): boolean {
  const { reconciledAt } = store.state;
  if (reconcileEveryMs === null || reconciledAt === null) return false;
  const sinceMs = clock() - Date.parse(reconciledAt);
  // Negative: the clock was fast then. Waiting for it to catch up could take arbitrarily long.
  return sinceMs >= reconcileEveryMs || sinceMs < 0;
}

/** Syncs every `everyMs` until stopped. Transient failures are reported and retried at the next interval. */
async function watch(
  context: SyncContext,
  isReconciling: boolean,
  everyMs: number,
  syncOnce: (isReconciling: boolean) => Promise<SyncReport>,
  { onReport, onFailure }: MirrorSurroundings,
): Promise<void> {
  const { stop, progress } = context;
  for (let isRequested = isReconciling; ;) {
    // Monotonic, because the wall clock can be set meanwhile.
    const nextAtMs = performance.now() + everyMs;
    try {
      onReport(await syncOnce(isRequested));
      isRequested = false;
    } catch (error) {
      progress.end();
      if (stop.aborted || !isTransient(error)) throw error;
      onFailure(error, Math.max(0, nextAtMs - performance.now()));
    }
    await waitUntil(context, nextAtMs);
  }
}

/** Waits, updating `is_open` at each deadline. Checks the wall clock at least once a minute because it can be set. */
async function waitUntil({ store, clock, stop }: SyncContext, atMs: number): Promise<void> {
  for (;;) {
    const deadlineMs = await store.refreshOpen(clock());
    const untilMs = deadlineMs === null ? MAX_PAUSE_MS : Math.max(0, deadlineMs - clock());
    const leftMs = atMs - performance.now();
    if (leftMs <= 0) return;
    await pause(Math.min(leftMs, untilMs, MAX_PAUSE_MS), stop);
  }
}

/** Whether the failure is transient, so that the next sync can succeed without intervention. */
function isTransient(error: unknown): boolean {
  const transient = [
    ConnectionError,
    TimeoutError,
    InternalServerError,
    RateLimitedError,
    UnexpectedAnswerError,
    BusyCopyError,
  ];
  return transient.some((type) => error instanceof type);
}
