import { randomUUID } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import { recordChange } from '../database/audit.ts';
import { inTransaction, type OpenDatabase } from '../database/database.ts';
import { assignPositions, countRecords, rebuildBlocks, type FillProgress } from '../index/fill-index.ts';
import { isLayoutSound } from '../index/layout.ts';
import { INDEXED_KINDS, type IndexedKind } from '../index/terms.ts';
import type { Clock } from '../timestamp.ts';
import { announcePublication, nextPublication, tidyUp } from '../publishing/announce.ts';
import { lockCatalog } from '../publishing/lock.ts';

export interface ReindexOptions {
  readonly clock: Clock;
  /** Defaults to all kinds. */
  readonly kinds?: readonly IndexedKind[];
  /** Called once if an import holds the lock. */
  readonly onWaiting?: () => void;
  /** Called regularly while waiting and working. An error it throws ends the work without changes. */
  readonly throwIfInterrupted?: () => void;
  readonly onProgress?: (progress: FillProgress) => void;
  /** Called just before the commit, the last point at which throwing leaves everything unchanged. */
  readonly onCommit?: () => void;
}

export interface Reindexing {
  /** The timestamp of the publication that made the new index known. */
  readonly timestamp: string;
  readonly kinds: readonly ReindexedKind[];
  /** A note for the operator about the disk; null if there is none. */
  readonly note: string | null;
}

export interface ReindexedKind {
  readonly kind: IndexedKind;
  readonly records: number;
  /** The records' positions were missing or out of order, and were assigned again. */
  readonly isPlacedAgain: boolean;
}

/**
 * Rebuilds the index from the stored records, all or nothing. Servers continue; imports wait. Ends with a publication
 * that changes no record, so that servers drop what they cached of the old index; watermarks stay valid.
 *
 * @throws ImportLockedError if an import ran for over a minute.
 */
export async function reindex(database: OpenDatabase, options: ReindexOptions): Promise<Reindexing> {
  const { clock, kinds = INDEXED_KINDS, onProgress, onCommit } = options;
  const throwIfInterrupted = (): void => options.throwIfInterrupted?.();
  const pause = async (): Promise<void> => {
    await setImmediate();
    throwIfInterrupted();
  };
  const reindexed = await inTransaction(database, async (transaction) => {
    await lockCatalog(transaction, {
      ...(options.onWaiting !== undefined && { onWaiting: options.onWaiting }),
      throwIfInterrupted,
    });
    const publication = { number: await nextPublication(transaction), token: randomUUID() };
    const counts = await countRecords(transaction, kinds);
    const total = [...counts.values()].reduce((sum, count) => sum + count, 0);
    let done = 0;
    const results: ReindexedKind[] = [];
    for (const kind of kinds) {
      onProgress?.({ done, total, what: kind });
      const isSound = await isLayoutSound(transaction, kind, pause);
      if (!isSound) await assignPositions(transaction, kind, publication.token, pause);
      await rebuildBlocks(transaction, kind, publication.token, pause, (count) => {
        done += count;
        onProgress?.({ done, total, what: kind });
      });
      results.push({ kind, records: counts.get(kind) ?? 0, isPlacedAgain: !isSound });
    }
    const timestamp = await announcePublication(transaction, publication, clock);
    const placedAgain = results.filter(({ isPlacedAgain }) => isPlacedAgain).map(({ kind }) => kind);
    const details = { published_at: timestamp, kinds: [...kinds], records: total, placed_again: placedAgain };
    await recordChange(transaction, clock, { action: 'reindex', details });
    await pause();
    onCommit?.();
    return { timestamp, kinds: results };
  });
  const records = reindexed.kinds.reduce((sum, kind) => sum + kind.records, 0);
  // The rebuild is committed; a failure of the cleanup does not matter.
  const note = await tidyUp(database, records).catch(() => null);
  return { ...reindexed, note };
}
