import { createClient } from '../client.ts';
import {
  ConnectionError,
  InternalServerError,
  RateLimitedError,
  TimeoutError,
  UnexpectedAnswerError,
} from '../errors.ts';
import type { RateLimit } from '../rate-limit.ts';
import { pause } from '../retries.ts';
import { DetailTags, StoppedError, type ProgressListener, type SyncContext } from './context.ts';
import { estimateFirstRun, estimateText } from './estimate.ts';
import { NdjsonStore } from './ndjson-store.ts';
import type { MirrorOptions } from './options.ts';
import { Pace } from './pace.ts';
import { SqliteStore } from './sqlite-store.ts';
import { BusyCopyError, CopyError, type Store } from './store.ts';
import { sync, type SyncReport } from './sync.ts';

/** What a mirror tells, and how it is ended. */
export interface MirrorSurroundings {
  /** Begins the end: nothing more is asked for. */
  readonly stop: AbortSignal;
  /** Ends also what is in flight. */
  readonly abort: AbortSignal;
  readonly progress: ProgressListener & { pause?(ms: number): void };
  readonly tell: (message: string) => void;
  readonly onReport: (report: SyncReport) => void;
  /** Is told, while it watches, of a sync that failed and is tried again after so many milliseconds. */
  readonly onFailure: (error: unknown, retryInMs: number) => void;
  readonly clock: () => number;
}

/** Between two looks at the clock. */
const LONGEST_PAUSE_MS = 60_000;

/** A service that restarts is waited for: about half a minute. */
const RETRIES = { retries: 8, minDelayMs: 250, maxDelayMs: 10_000 };

/**
 * Keeps a copy in step: once, or until it is stopped.
 *
 * @throws the client's errors, CopyError, StoppedError where one sync was stopped.
 */
export async function runMirror(options: MirrorOptions, surroundings: MirrorSurroundings): Promise<void> {
  const { type, path } = options.store;
  const store = await (type === 'sqlite' ? SqliteStore : NdjsonStore).open(path, options.baseUrl);
  try {
    checkService(store, options);
    const { context, limit } = contextOf(options, surroundings, store);
    const syncOnce = async (isAsked: boolean): Promise<SyncReport> => {
      if (store.state.reconciledAt === null) context.tell(estimateText(await estimateFirstRun(context, limit)));
      return sync(context, { isReconciling: isAsked || isDue(context, options), refreshMs: options.refreshMs });
    };
    if (options.watchMs === null) surroundings.onReport(await syncOnce(options.isReconciling));
    else await watch(context, options.isReconciling, options.watchMs, syncOnce, surroundings);
  } catch (error) {
    if (!surroundings.stop.aborted) throw error;
    if (options.watchMs === null) throw new StoppedError('stopped; the next run goes on from here', { cause: error });
  } finally {
    await store.close();
  }
}

/** A watermark of another service would leave out changes without a word. */
function checkService({ state }: Store, { baseUrl, store: { path } }: MirrorOptions): void {
  if (state.service !== baseUrl)
    throw new CopyError(`${path} is a copy of ${state.service}: for one of ${baseUrl}, name another place`);
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
  });
  return { context: { client, store, pace, clock, stop, abort, tags, progress, tell }, limit: () => limit };
}

/** Whether the last reconciliation is so long ago. */
function isDue({ store, clock }: SyncContext, { reconcileEveryMs }: MirrorOptions): boolean {
  const { reconciledAt } = store.state;
  if (reconcileEveryMs === null || reconciledAt === null) return false;
  const sinceMs = clock() - Date.parse(reconciledAt);
  // Before the last time: the clock was wrong then, and would be waited for until it is that late.
  return sinceMs >= reconcileEveryMs || sinceMs < 0;
}

/** Syncs again and again until it is stopped. What passes by itself is told, and tried again at the next time. */
async function watch(
  context: SyncContext,
  isReconciling: boolean,
  everyMs: number,
  syncOnce: (isReconciling: boolean) => Promise<SyncReport>,
  { onReport, onFailure }: MirrorSurroundings,
): Promise<void> {
  const { stop, progress } = context;
  for (let isAsked = isReconciling; ;) {
    // Not the clock of the day, which may be set meanwhile.
    const nextAtMs = performance.now() + everyMs;
    try {
      onReport(await syncOnce(isAsked));
      isAsked = false;
    } catch (error) {
      progress.end();
      if (stop.aborted || !isPassing(error)) throw error;
      onFailure(error, Math.max(0, nextAtMs - performance.now()));
    }
    await waitUntil(context, nextAtMs);
  }
}

/** Waits, and corrects at each deadline what is open. Looks at the clock once a minute, since that may be set. */
async function waitUntil({ store, clock, stop }: SyncContext, atMs: number): Promise<void> {
  for (;;) {
    const deadlineMs = await store.refreshOpen(clock());
    const untilMs = deadlineMs === null ? LONGEST_PAUSE_MS : Math.max(0, deadlineMs - clock());
    const leftMs = atMs - performance.now();
    if (leftMs <= 0) return;
    await pause(Math.min(leftMs, untilMs, LONGEST_PAUSE_MS), stop);
  }
}

/** Whether it may be gone at the next time without anybody doing something. */
function isPassing(error: unknown): boolean {
  const passing = [
    ConnectionError,
    TimeoutError,
    InternalServerError,
    RateLimitedError,
    UnexpectedAnswerError,
    BusyCopyError,
  ];
  return passing.some((type) => error instanceof type);
}
