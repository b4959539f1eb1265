import { ValidationFailedError } from '../errors.ts';
import { takeTurn, type SyncContext } from './context.ts';
import { knowsChanges, listOf, type Kind, type ListedRecord } from './kinds.ts';
import type { Walk } from './state.ts';
import type { Changes } from './store.ts';

/** The most that a page may hold. */
export const PAGE_SIZE = 100;

/** What a sync did with a kind. */
export interface KindOutcome extends Changes {
  readonly walk: Walk['type'];
}

/**
 * Brings one kind up to date. A walk that broke off is gone on with; but it saw its first pages before this sync began,
 * so that another one follows, of what changed since.
 *
 * @param isReconciling a full walk, all of it in this sync: only such a one tells what is gone.
 * @throws the client's errors, CopyError, StoppedError.
 */
export async function syncKind(context: SyncContext, kind: Kind, isReconciling: boolean): Promise<KindOutcome> {
  const outcomes: KindOutcome[] = [];
  const { walk: unfinished } = context.store.state.kinds[kind];
  if (unfinished !== null && knowsChanges(kind) && !isReconciling)
    outcomes.push(await runWalk(context, kind, unfinished));
  const { watermark } = context.store.state.kinds[kind];
  const type = isReconciling || watermark === null || !knowsChanges(kind) ? 'full' : 'changes';
  outcomes.push(await runWalk(context, kind, newWalk(context, kind, type)));
  const sum = (name: keyof Changes): number => outcomes.reduce((total, outcome) => total + outcome[name], 0);
  return {
    walk: outcomes.some(({ walk }) => walk === 'full') ? 'full' : 'changes',
    added: sum('added'),
    changed: sum('changed'),
    removed: sum('removed'),
  };
}

function newWalk({ store }: SyncContext, kind: Kind, type: Walk['type']): Walk {
  const number = store.state.kinds[kind].walks + 1;
  return { type, number, cursor: null, watermark: null, isReceived: false, received: 0 };
}

async function runWalk(context: SyncContext, kind: Kind, walk: Walk): Promise<KindOutcome> {
  try {
    await receive(context, kind, walk);
  } catch (error) {
    // A cursor is refused where it is another partner's, or the service's secret was changed: the walk begins anew, once.
    const { walk: reached } = context.store.state.kinds[kind];
    if (!(error instanceof ValidationFailedError) || typeof reached?.cursor !== 'string') throw error;
    await receive(context, kind, newWalk(context, kind, walk.type));
  }
  return { walk: walk.type, ...(await context.store.completeWalk(kind, context.clock())) };
}

/** Receives what is left of a walk, and saves each page with the cursor of the next. */
async function receive(context: SyncContext, kind: Kind, begun: Walk): Promise<void> {
  if (begun.isReceived) return;
  const { client, store, progress, abort } = context;
  const since = store.state.kinds[kind].watermark;
  const total = await totalOf(context, kind, begun);
  let walk = begun;
  progress.begin(kind, walk.received, total);
  await takeTurn(context);
  const list = listOf(
    client,
    kind,
    {
      limit: PAGE_SIZE,
      cursor: begun.cursor ?? undefined,
      ...(begun.type === 'changes' && since !== null && { updated_since: since }),
    },
    abort,
  );
  for await (const page of list.pages()) {
    walk = {
      ...walk,
      cursor: page.nextCursor,
      // The same on all pages of a walk; of the first one, if it were not.
      watermark: walk.watermark ?? page.watermark,
      isReceived: page.nextCursor === null,
      received: walk.received + page.data.length,
    };
    await store.savePage(kind, page.data as ListedRecord[], walk);
    progress.advance(walk.received);
    if (!walk.isReceived) await takeTurn(context);
  }
  progress.end();
}

/** How many records a full walk will receive, as far as it is known beforehand. */
async function totalOf(context: SyncContext, kind: Kind, { type }: Walk): Promise<number | null> {
  if (type === 'changes') return null;
  if (kind !== 'solicitations') {
    const held = context.store.state.kinds[kind].watermark === null ? 0 : await context.store.countHeld(kind);
    return held === 0 ? null : held;
  }
  await takeTurn(context);
  return context.client.solicitations.count({}, { signal: context.abort });
}
