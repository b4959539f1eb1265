import { CHANGES_PATH, readPiece, type RawPiece, type Totals } from '../changes.ts';
import { ForbiddenError, ValidationFailedError } from '../errors.ts';
import type { Key } from '../generated/types.gen.ts';
import { getKey } from '../key.ts';
import { newCursorCheck } from '../lists.ts';
import { linesOf, NDJSON } from '../streams.ts';
import type { Transport } from '../transport.ts';
import { FEED_KINDS, KINDS, readFeedLine, REFERENCE_KINDS, type Kind, type ReferenceKind } from './kinds.ts';
import { CopyError, each, readingAgain, type CopyChange, type MirrorState, type Store } from './store.ts';

/** The signals, clock and output of a mirror. */
export interface MirrorRuntime {
  /** Graceful stop: no further requests are sent, but the one in flight is still used. */
  readonly stop: AbortSignal;
  /** Aborts the request in flight. */
  readonly abort: AbortSignal;
  /** With `--watch`, a key that the service refuses is not tried again earlier than this. */
  readonly refusedPauseMs: number;
  /** Milliseconds since 1970. Decides what is open; never what changed. */
  readonly clock: () => number;
  /** Told how many changes were received so far, and null at the end. */
  readonly onProgress: (received: number | null) => void;
  /** Shows the operator a one-sentence notice. */
  readonly notify: (message: string) => void;
  readonly onReport: (report: SyncReport, changes: Iterable<CopyChange>) => void;
  /** Called before a request is repeated, if the pause is long enough to be noticed. */
  readonly onPause: (error: unknown, pauseMs: number) => void;
  /**
   * With `--watch`: called when a sync failed and will be retried after `retryInMs`.
   *
   * @param isKnown the service refuses the key for the same reason as at the sync before.
   */
  readonly onFailure: (error: unknown, retryInMs: number, isKnown: boolean) => void;
}

/** Everything that a sync works with. */
export type SyncContext = MirrorRuntime & { readonly transport: Transport; readonly store: Store };

/** The number of records of a kind in the copy, and of those that changed since the last report. */
export type KindReport = Record<'held' | CopyChange['change'], number>;

/** The result of a sync. */
export interface SyncReport {
  /** By kind; null if the key has no access to it. */
  readonly kinds: Readonly<Record<Kind, KindReport | null>>;
  /** Whether anything is to be reported. */
  readonly isChanged: boolean;
  /** Whether everything was listed, not only changes. */
  readonly reset: boolean;
  /** Whether it is the first one. Its records are only counted. */
  readonly isFirstCopy: boolean;
  /** The copy has everything that was published before it. */
  readonly watermark: string;
  /** When the service last imported data or found nothing new; null if it has none, or is older than 2.1. */
  readonly dataCheckedAt: string | null;
}

/** The service refuses all requests of the key. */
export class SuspendedError extends CopyError {}

/** The operator stopped the mirror. Everything received so far is saved. */
export class StoppedError extends Error {
  override name = 'StoppedError';
}

/**
 * Brings the whole copy up to date. Changes that were not reported yet include those of earlier syncs that were
 * interrupted.
 *
 * @throws the client's errors, CopyError, StoppedError. Everything received until then is saved.
 */
export async function sync(context: SyncContext): Promise<SyncReport> {
  const { store, clock } = context;
  let reset = false;
  let dataCheckedAt: string | null = null;
  for (let isRepeated = false; ; isRepeated = true) {
    try {
      dataCheckedAt = (await readKey(context)).data_checked_at ?? null;
      reset = (await listChanges(context)) || reset;
      await readReferences(context);
      break;
    } catch (error) {
      // The service refuses cursors that it cannot continue, and those from before a change of its secret.
      const isCursorRefused = error instanceof ValidationFailedError && store.state.listing?.cursor != null;
      // Or the kinds of the key have changed since it was read.
      if (isRepeated || !(isCursorRefused || error instanceof ForbiddenError)) throw error;
      if (isCursorRefused) store.saveState({ ...store.state, listing: null });
    }
  }
  store.refreshOpen(clock());
  const { isFirstCopy, kinds, held, watermark } = store.state;
  const reports = each(KINDS, (kind): KindReport | null => {
    const added = isFirstCopy ? held[kind] : 0;
    return kinds?.includes(kind) === true ? { held: held[kind], added, changed: 0, removed: 0 } : null;
  });
  let isChanged = false;
  for (const { kind, change, count } of store.countUnreported()) {
    isChanged = true;
    const report = reports[kind];
    if (report !== null) report[change] += count;
  }
  return { kinds: reports, isChanged, reset, isFirstCopy, watermark: String(watermark), dataCheckedAt };
}

/**
 * Reads the key, and what it can see. A copy has the records of one partner and of its kinds, so if they are others, everything
 * is read again.
 *
 * @throws SuspendedError
 */
async function readKey(context: SyncContext): Promise<Partial<Key>> {
  const { transport, store, abort, notify } = context;
  checkStopped(context);
  const key = await getKey(transport, { signal: abort }).catch((error: unknown) => {
    if (!(error instanceof ForbiddenError)) throw error;
    const advice = 'your access may be suspended. The copy was not changed';
    throw new SuspendedError(`the service rejects all requests (403): ${advice}`, { cause: error });
  });
  const { state } = store;
  const kinds = KINDS.filter((kind) => key.kinds.some((name) => name === kind));
  if (state.partner === key.partner && state.kinds?.join() === kinds.join()) return key;
  for (const kind of KINDS.filter((name) => !kinds.includes(name) && state.kinds?.includes(name) !== false))
    notify(`${kind}: not in the copy, because your key has no access to them (403)`);
  store.saveState({ ...readingAgain(state), partner: key.partner, kinds });
  return key;
}

/** Everything that a key sees which can read none of the kinds in the feed. */
const NOTHING: RawPiece = { lines: [], nextCursor: null, reset: true, watermark: '', totals: null };

/**
 * Receives the remaining pieces of the listing in progress, or of a new one, and saves each with the cursor of the next.
 * If the copy then has other numbers of records than the service counts, reads everything again. Returns whether a listing
 * was complete.
 *
 * @throws CopyError if the numbers differ again.
 */
async function listChanges(context: SyncContext, isAgain = false): Promise<boolean> {
  const { transport, store, onProgress, notify, abort, clock } = context;
  const { watermark: since, kinds } = store.state;
  const requested = FEED_KINDS.filter((kind) => kinds?.includes(kind));
  const read = async (cursor: string | null): Promise<RawPiece> => {
    checkStopped(context);
    if (requested.length === 0) return NOTHING;
    return readPiece(transport, { kinds: requested, updated_since: since, cursor }, { signal: abort });
  };
  let { listing } = store.state;
  const expectNewCursor = newCursorCheck(CHANGES_PATH, listing?.cursor);
  const isResumed = listing !== null;
  let counted: Totals | null = null;
  let piece = listing?.watermark != null ? null : read(listing?.cursor ?? null);
  for (let received = 0; piece !== null;) {
    const { lines, nextCursor, reset, watermark, totals } = await piece;
    // Before the piece is saved: it may be one that the copy has already.
    expectNewCursor(nextCursor);
    // While this piece is being saved, the service sends the next one.
    piece = nextCursor === null ? null : read(nextCursor);
    piece?.catch(() => undefined);
    const line = lines.at(-1);
    const last = line === undefined ? (listing?.last ?? null) : { ...readFeedLine(line), record: null };
    listing = { cursor: nextCursor, isComplete: reset, watermark, last };
    store.savePiece(lines, listing);
    counted = totals;
    received += lines.length;
    onProgress(received);
  }
  onProgress(null);
  store.endListing({ ...store.state, watermark: listing?.watermark ?? null, listing: null }, clock());
  const { held } = store.state;
  const differs = requested.filter((kind) => (counted?.[kind] ?? held[kind]) !== held[kind]).join(', ');
  if (differs !== '' && isAgain)
    throw new CopyError(`the copy has other numbers of ${differs} than the service, also after it was read again`);
  if (differs !== '') {
    notify(`the copy has other numbers of ${differs} than the service: everything is read again`);
    store.saveState(readingAgain(store.state));
  }
  // A resumed listing began before this run. Another one lists what changed since.
  const isRepeated = isResumed || differs !== '';
  return (isRepeated && (await listChanges(context, differs !== ''))) || listing?.isComplete === true;
}

/** Reads the short lists again if anything was published since the last time, and drops those that the key cannot read. */
async function readReferences(context: SyncContext): Promise<void> {
  const { transport, store, abort } = context;
  const { watermark, kinds, references } = store.state;
  if (references.watermark === watermark && watermark !== NOTHING.watermark) return;
  let isCurrent = true;
  for (const kind of REFERENCE_KINDS) {
    checkStopped(context);
    if (kinds?.includes(kind) !== true) {
      store.saveReferences(kind, [], withEtag(store.state, kind, null));
      continue;
    }
    const request = { target: `/v1/${kind}`, type: NDJSON, etag: references.etags[kind] };
    const { data, headers, info } = await transport.getText(request, { signal: abort }, linesOf);
    if (info.status !== 304) store.saveReferences(kind, data, withEtag(store.state, kind, headers.get('etag')));
    // A process that has not noticed the last release yet can still send the list from before.
    isCurrent &&= (headers.get('x-sync-watermark') ?? '') >= String(watermark);
  }
  if (isCurrent) store.saveState({ ...store.state, references: { ...store.state.references, watermark } });
}

function withEtag({ references, ...state }: MirrorState, kind: ReferenceKind, etag: string | null): MirrorState {
  return { ...state, references: { ...references, etags: { ...references.etags, [kind]: etag } } };
}

/** Call before each request. @throws StoppedError */
function checkStopped({ stop }: SyncContext): void {
  if (stop.aborted) throw new StoppedError('stopped; the next run continues from here');
}
