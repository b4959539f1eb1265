import { NotFoundError } from '../errors.ts';
import { takeTurn, type SyncContext } from './context.ts';
import type { ListedRecord } from './kinds.ts';
import type { DetailOutcome } from './store.ts';

/** The result of syncing solicitation details. */
export interface DetailsOutcome {
  readonly read: number;
  readonly changed: number;
  /** Solicitations that returned 404. */
  readonly removed: number;
}

/**
 * Reads the details that may have changed without any change in the list. Requests are conditional on the stored ETag.
 *
 * @throws the client's errors, CopyError, StoppedError.
 */
export async function syncDetails(context: SyncContext, refreshMs: number): Promise<DetailsOutcome> {
  const { store, clock, progress } = context;
  const due = await store.listDueDetails({ nowMs: clock(), refreshMs });
  let [read, changed, removed] = [0, 0, 0];
  progress.begin('details', 0, due.length);
  for (const { id, etag } of due) {
    await takeTurn(context);
    const outcome = await readDetail(context, id, etag);
    const isChanged = await store.saveDetail(id, outcome, clock());
    read += 1;
    if (outcome.type === 'gone') removed += 1;
    else if (isChanged) changed += 1;
    progress.advance(read);
  }
  progress.end();
  await store.completeDetails(clock());
  return { read, changed, removed };
}

async function readDetail(
  { client, tags, abort }: SyncContext,
  id: string,
  tag: string | null,
): Promise<DetailOutcome> {
  tags.begin(tag);
  try {
    const detail: ListedRecord = await client.solicitations.get(id, { signal: abort });
    return tags.isUnchanged ? { type: 'unchanged' } : { type: 'received', etag: tags.received, detail };
  } catch (error) {
    if (error instanceof NotFoundError) return { type: 'gone' };
    throw error;
  } finally {
    tags.clear();
  }
}
