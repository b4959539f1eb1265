import { ValidationFailedError } from '../errors.ts';
import { takeTurn, type SyncContext } from './context.ts';
import { knowsChanges, listOf, type Kind, type ListedRecord } from './kinds.ts';
import type { Walk } from './state.ts';
import type { Changes } from './store.ts';

/** The maximum page size of the API. */
export const PAGE_SIZE = 100;

/** The result of syncing one kind. */
export interface KindOutcome extends Changes {
  readonly walk: Walk['type'];
}

/**
 * Brings one kind up to date. If a listing was interrupted, resumes it. Its first pages predate this sync, so an
 * incremental listing follows to pick up the changes since.
 *
 * @param isReconciling lists everything in full within this sync: the only reliable way to find removed records.
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
    // The service refuses cursors of another partner or from before a change of its secret: restart the listing, once.
    const { walk: reached } = context.store.state.kinds[kind];
    if (!(error instanceof ValidationFailedError) || typeof reached?.cursor !== 'string') throw error;
    await receive(context, kind, newWalk(context, kind, walk.type));
  }
  return { walk: walk.type, ...(await context.store.completeWalk(kind, context.clock())) };
}

/** Receives the remaining pages of a listing, and saves each with the cursor of the next. */
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
      // All pages of a listing have the same watermark; if they ever differ, the first is the safe one.
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

/** The expected number of records in a full listing; null if unknown. */
async function totalOf(context: SyncContext, kind: Kind, { type }: Walk): Promise<number | null> {
  if (type === 'changes') return null;
  if (kind !== 'solicitations') {
    const held = context.store.state.kinds[kind].watermark === null ? 0 : await context.store.countHeld(kind);
    return held === 0 ? null : held;
  }
  await takeTurn(context);
  return context.client.solicitations.count({}, { signal: context.abort });
}
