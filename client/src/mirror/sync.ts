import { readPiece, type RawPiece } from '../changes.ts';
import { ForbiddenError, ValidationFailedError } from '../errors.ts';
import type { Key } from '../generated/types.gen.ts';
import { NDJSON } from '../streams.ts';
import { checkStopped, type SyncContext } from './context.ts';
import { FEED_KINDS, KINDS, readFeedLine, REFERENCE_KINDS, type Kind, type ReferenceKind } from './kinds.ts';
import { withFirstCopy, type Changes, type Listing } from './state.ts';
import { CopyError } from './store.ts';

/** The number of records of a kind in the copy, and what this sync changed. */
export interface KindReport extends Changes {
  readonly held: number;
}

/** The result of a sync. */
export interface SyncReport {
  /** By kind; null if the key has no access to it. */
  readonly kinds: Readonly<Record<Kind, KindReport | null>>;
  /** Whether everything was listed, not only changes. */
  readonly reset: boolean;
  /** Whether it is the first one. Its records are only counted. */
  readonly isFirstCopy: boolean;
  /** The copy has everything that was published before it. */
  readonly watermark: string;
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
  for (let isRepeated = false, isDone = false; !isDone; isRepeated = true) {
    await readKey(context);
    try {
      reset = await listChanges(context);
      await readReferences(context);
      isDone = true;
    } catch (error) {
      // The kinds of the key have changed since it was read.
      if (!(error instanceof ForbiddenError) || isRepeated) throw error;
    }
  }
  store.refreshOpen(clock());
  const { isFirstCopy } = store.state;
  if (isFirstCopy) store.saveState(withFirstCopy(store.state, store.countHeld()));
  const { kinds, held, unreported, watermark } = store.state;
  const reports = KINDS.map(
    (kind) => [kind, kinds?.includes(kind) === true ? { held: held[kind], ...unreported[kind] } : null] as const,
  );
  return {
    kinds: Object.fromEntries(reports) as SyncReport['kinds'],
    reset,
    isFirstCopy,
    watermark: String(watermark),
  };
}

/** Returns whether a listing was complete. */
async function listChanges(context: SyncContext): Promise<boolean> {
  for (let reset = false; ;) {
    // A resumed listing began before this run. Another one lists what changed since.
    const isResumed = context.store.state.listing !== null;
    reset = (await listOnce(context)) || reset;
    if (!isResumed) return reset;
  }
}

/**
 * Reads what the key can see. A copy has the records of one partner and of its kinds, so if they are others, the next
 * listing is complete.
 *
 * @throws CopyError if the partner is suspended.
 */
async function readKey(context: SyncContext): Promise<void> {
  const { transport, store, abort, notify } = context;
  let key: Key;
  checkStopped(context);
  try {
    key = (await transport.get<Key>('/v1/key', { signal: abort })).data;
  } catch (error) {
    if (!(error instanceof ForbiddenError)) throw error;
    throw new CopyError(
      'the service rejects all requests (403): your access may be suspended. The copy was not changed',
      { cause: error },
    );
  }
  const { state } = store;
  const kinds = KINDS.filter((kind) => key.kinds.some((name) => name === kind));
  const isSame = state.partner === key.partner && state.kinds?.join() === kinds.join();
  if (isSame) return;
  for (const kind of KINDS.filter((name) => !kinds.includes(name) && state.kinds?.includes(name) !== false))
    notify(`${kind}: not in the copy, because your key has no access to them (403)`);
  const references = { ...state.references, watermark: null };
  store.saveState({ ...state, partner: key.partner, kinds, watermark: null, listing: null, references });
}

/** Everything that a key sees which can read none of the kinds in the feed. */
const NOTHING: RawPiece = { lines: [], meta: { next_cursor: null, reset: true, watermark: '' } };

/** Completes the listing in progress, or a new one. Returns whether it was complete. */
async function listOnce(context: SyncContext): Promise<boolean> {
  const { store } = context;
  try {
    return await receive(context);
  } catch (error) {
    // The service refuses cursors that it cannot continue, and those from before a change of its secret.
    const isRefused = error instanceof ValidationFailedError && typeof store.state.listing?.cursor === 'string';
    if (!isRefused) throw error;
    store.saveState({ ...store.state, listing: null });
    return receive(context);
  }
}

/** Receives the remaining pieces of a listing, and saves each with the cursor of the next. */
async function receive(context: SyncContext): Promise<boolean> {
  const { transport, store, onProgress, abort, clock } = context;
  const { watermark, kinds } = store.state;
  const requested = FEED_KINDS.filter((kind) => kinds?.includes(kind));
  const read = async (cursor: string | null): Promise<RawPiece> => {
    checkStopped(context);
    if (requested.length === 0) return NOTHING;
    const filters = { kinds: requested, updated_since: watermark, cursor };
    return readPiece(transport, filters, { signal: abort });
  };
  let listing: Listing | null = store.state.listing;
  let piece = listing?.watermark != null ? null : read(listing?.cursor ?? null);
  while (piece !== null) {
    const { lines, meta } = await piece;
    // While this piece is being saved, the service sends the next one.
    piece = meta.next_cursor === null ? null : read(meta.next_cursor);
    piece?.catch(() => undefined);
    const last = lines.at(-1);
    listing = {
      cursor: meta.next_cursor,
      isComplete: meta.reset,
      watermark: meta.watermark,
      last: last === undefined ? (listing?.last ?? null) : positionOf(last),
      received: (listing?.received ?? 0) + lines.length,
    };
    store.savePiece(lines, listing);
    onProgress(listing.received);
  }
  onProgress(null);
  store.endListing(clock());
  return listing?.isComplete === true;
}

function positionOf(line: string): Listing['last'] {
  const { kind, id } = readFeedLine(line);
  return { kind, id };
}

/** Reads the short lists again if anything was published since the last time, and drops those that the key cannot read. */
async function readReferences(context: SyncContext): Promise<void> {
  const { store } = context;
  const { watermark, kinds, references } = store.state;
  if (references.watermark === watermark && watermark !== NOTHING.meta.watermark) return;
  let isCurrent = true;
  for (const kind of REFERENCE_KINDS) {
    checkStopped(context);
    if (kinds?.includes(kind) === true) isCurrent = (await readReferenceList(context, kind)) && isCurrent;
    else store.saveReferences(kind, { records: [], etag: null });
  }
  // A process that has not noticed the last release yet can still send the lists from before.
  if (isCurrent) store.saveState({ ...store.state, references: { ...store.state.references, watermark } });
}

/** Returns whether the list is at least as new as the copy. */
async function readReferenceList({ transport, store, abort }: SyncContext, kind: ReferenceKind): Promise<boolean> {
  const request = { target: `/v1/${kind}`, type: NDJSON, etag: store.state.references.etags[kind] };
  const { data, headers, info } = await transport.getText(request, { signal: abort });
  if (info.status !== 304)
    store.saveReferences(kind, { records: data.split('\n').slice(0, -1), etag: headers.get('etag') });
  return (headers.get('x-sync-watermark') ?? '') >= String(store.state.watermark);
}
