import { ForbiddenError } from '../errors.ts';
import { takeTurn, type SyncContext } from './context.ts';
import { syncDetails, type DetailsOutcome } from './details.ts';
import { KINDS, listOf, type Kind } from './kinds.ts';
import { withKind } from './state.ts';
import { CopyError } from './store.ts';
import { syncKind, type KindOutcome } from './walk.ts';

export interface SyncOptions {
  /** Whether to list everything in full and drop removed records. */
  readonly isReconciling: boolean;
  readonly refreshMs: number;
}

/** The result of syncing one kind, with the number of records now in the copy. */
export interface KindReport extends KindOutcome {
  readonly held: number;
}

/** The result of a sync. */
export interface SyncReport {
  /** By kind; null if the key has no access to it. */
  readonly kinds: Readonly<Record<Kind, KindReport | null>>;
  /** Null if the key has no access to solicitations. */
  readonly details: DetailsOutcome | null;
  readonly reconciled: boolean;
}

/**
 * Brings the whole copy up to date.
 *
 * @throws the client's errors, CopyError, StoppedError. Everything received until then is saved.
 */
export async function sync(context: SyncContext, { isReconciling, refreshMs }: SyncOptions): Promise<SyncReport> {
  const { store, clock } = context;
  const outcomes = new Map<Kind, KindOutcome | null>();
  for (const kind of KINDS) outcomes.set(kind, await unlessForbidden(() => syncAllowed(context, kind, isReconciling)));
  const isListed = outcomes.get('solicitations') !== null;
  const details = isListed ? await unlessForbidden(() => syncDetails(context, refreshMs)) : null;
  if (details === null) outcomes.set('solicitations', null);
  const forbidden = KINDS.filter((kind) => outcomes.get(kind) === null);
  if (forbidden.length > 0) await leaveOut(context, forbidden, isReconciling);
  await store.refreshOpen(clock());
  if (isReconciling || store.state.reconciledAt === null)
    await store.saveState({ ...store.state, reconciledAt: new Date(clock()).toISOString() });
  const reports: [Kind, KindReport | null][] = [];
  for (const [kind, outcome] of outcomes) {
    const removed = (outcome?.removed ?? 0) + (kind === 'solicitations' ? (details?.removed ?? 0) : 0);
    reports.push([kind, outcome === null ? null : { ...outcome, removed, held: await store.countHeld(kind) }]);
  }
  return { kinds: Object.fromEntries(reports) as SyncReport['kinds'], details, reconciled: isReconciling };
}

async function syncAllowed(context: SyncContext, kind: Kind, isReconciling: boolean): Promise<KindOutcome> {
  const { store } = context;
  const outcome = await syncKind(context, kind, isReconciling);
  if (store.state.kinds[kind].isForbidden) await store.saveState(withKind(store.state, kind, { isForbidden: false }));
  return outcome;
}

/** Null if the service returns 403. */
async function unlessForbidden<T>(work: () => Promise<T>): Promise<T | null> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof ForbiddenError) return null;
    throw error;
  }
}

/**
 * Handles kinds that returned 403: reports each once, and drops its records when reconciling. A suspended partner also
 * gets 403, for every kind. Its copy is left as it is, since that says nothing about its grants.
 *
 * @throws CopyError if every kind returns 403.
 */
async function leaveOut(context: SyncContext, forbidden: readonly Kind[], isReconciling: boolean): Promise<void> {
  const { store } = context;
  const allowed = KINDS.find((kind) => !forbidden.includes(kind));
  if (allowed === undefined || (await isForbiddenNow(context, allowed)))
    throw new CopyError(
      'the service rejects all requests (403): your access may be suspended. The copy was not changed',
    );
  for (const kind of forbidden) {
    const told = store.state.kinds[kind].isForbidden;
    if (!told) context.tell(`${kind}: skipped, because your key has no access to them (403)`);
    if (isReconciling) await store.dropKind(kind);
    if (!told) await store.saveState(withKind(store.state, kind, { isForbidden: true }));
  }
}

async function isForbiddenNow(context: SyncContext, kind: Kind): Promise<boolean> {
  await takeTurn(context);
  const list = listOf(context.client, kind, { limit: 1, cursor: undefined }, context.abort);
  return (await unlessForbidden(() => list.pages().next())) === null;
}
