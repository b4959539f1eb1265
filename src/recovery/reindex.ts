import { randomUUID } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import { recordChange } from '../database/audit.ts';
import { inTransaction, type OpenDatabase } from '../database/database.ts';
import { rebuildIndex, type RebuiltKind } from '../index/write/rebuild-index.ts';
import type { Clock } from '../timestamp.ts';
import { announceRelease, nextReleaseNumber } from '../publishing/releases.ts';
import { vacuum } from '../database/vacuum.ts';
import { lockCatalog, type WorkHooks } from '../database/catalog-lock.ts';
import { INDEXED_KINDS, type IndexedKind } from '../kinds.ts';

interface ReindexOptions extends WorkHooks {
  readonly clock: Clock;
  /** Defaults to all kinds. */
  readonly kinds?: readonly IndexedKind[];
}

export interface Reindexing {
  /** The timestamp of the release that made the new index known. */
  readonly timestamp: string;
  readonly kinds: readonly RebuiltKind[];
  /** A note for the operator about the disk; null if there is none. */
  readonly note: string | null;
}

/**
 * Rebuilds the index from the stored records, all or nothing. Servers continue; imports wait. Ends with a release
 * that changes no record, so that servers drop what they cached of the old index; watermarks stay valid.
 *
 * @throws OperatorError if an import ran for over a minute.
 */
export async function reindex(database: OpenDatabase, options: ReindexOptions): Promise<Reindexing> {
  const { clock, kinds = INDEXED_KINDS } = options;
  const { records, ...reindexed } = await inTransaction(database, async (transaction) => {
    await lockCatalog(transaction, options);
    const release = { number: await nextReleaseNumber(transaction), token: randomUUID() };
    const rebuilt = await rebuildIndex(transaction, kinds, release.token, (progress) => {
      options.throwIfInterrupted?.();
      options.onProgress?.(progress);
    });
    const timestamp = await announceRelease(transaction, release, clock);
    const records = rebuilt.reduce((sum, kind) => sum + kind.records, 0);
    const placedAgain = rebuilt.filter(({ isPlacedAgain }) => isPlacedAgain).map(({ kind }) => kind);
    const details = { published_at: timestamp, kinds: [...kinds], records, placed_again: placedAgain };
    await recordChange(transaction, clock, { action: 'reindex', details });
    await setImmediate();
    options.onCommit?.();
    return { timestamp, kinds: rebuilt, records };
  });
  // The rebuild is committed; a failure of the cleanup does not matter.
  return { ...reindexed, note: await vacuum(database, records).catch(() => null) };
}
