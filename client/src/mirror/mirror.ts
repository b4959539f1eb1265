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
import { timeText } from './progress.ts';
import { SqliteStore } from './sqlite-store.ts';
import { CopyError, type Store } from './store.ts';
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
  readonly clock: () => number;
}

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
    if (store.state.reconciledAt === null) context.tell(estimateText(await estimateFirstRun(context, limit)));
    if (options.watchMs === null) surroundings.onReport(await syncOnce(context, options, options.isReconciling));
    else await watch(context, options, options.watchMs, surroundings.onReport);
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

async function syncOnce(context: SyncContext, options: MirrorOptions, isAsked: boolean): Promise<SyncReport> {
  const { reconcileEveryMs, refreshMs } = options;
  const { reconciledAt } = context.store.state;
  const sinceMs = reconciledAt === null ? 0 : context.clock() - Date.parse(reconciledAt);
  // Before the last time: the clock was wrong then, and would be waited for until it is that late.
  const isDue = reconcileEveryMs !== null && (sinceMs >= reconcileEveryMs || sinceMs < 0);
  return sync(context, { isReconciling: isAsked || isDue, refreshMs });
}

/** Syncs again and again until it is stopped. What passes by itself is told, and tried again at the next time. */
async function watch(
  context: SyncContext,
  options: MirrorOptions,
  everyMs: number,
  onReport: (report: SyncReport) => void,
): Promise<void> {
  const { clock, stop, tell, progress } = context;
  let isReconciling = options.isReconciling;
  for (;;) {
    const nextAtMs = clock() + everyMs;
    try {
      onReport(await syncOnce(context, options, isReconciling));
      isReconciling = false;
    } catch (error) {
      progress.end();
      if (stop.aborted || !isPassing(error)) throw error;
      tell(`${(error as Error).message}; tried again in ${timeText(Math.max(0, nextAtMs - clock()))}`);
    }
    await waitUntil(context, nextAtMs);
  }
}

/** Waits, and corrects at each deadline what is open. */
async function waitUntil({ store, clock, stop }: SyncContext, atMs: number): Promise<void> {
  for (;;) {
    const deadlineMs = await store.refreshOpen(clock());
    const untilMs = Math.min(atMs, deadlineMs ?? atMs);
    await pause(Math.max(0, untilMs - clock()), stop);
    if (clock() >= atMs) return;
  }
}

/** Whether it may be gone at the next time without anybody doing something. */
function isPassing(error: unknown): boolean {
  const passing = [ConnectionError, TimeoutError, InternalServerError, RateLimitedError, UnexpectedAnswerError];
  return passing.some((type) => error instanceof type);
}
