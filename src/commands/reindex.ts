import type { IndexedKind } from '../index/terms.ts';
import { ImportLockedError } from '../publishing/lock.ts';
import { reindex, type Reindexing } from '../recovery/reindex.ts';
import { CommandError } from './command-error.ts';
import type { CommandContext } from './context.ts';
import { startProgress } from './progress.ts';

/**
 * `pds reindex`: rebuilds the index from the stored records.
 *
 * @param kinds null for all.
 */
export async function reindexDatabase(
  { database, clock, output }: CommandContext,
  kinds: readonly IndexedKind[] | null,
): Promise<undefined> {
  const progress = startProgress(output, 'Interrupted; nothing was changed.');
  const { interruption } = progress;
  const reindexing = await reindex(database, {
    clock,
    ...(kinds !== null && { kinds }),
    onWaiting: () => output.note('An import is running: waiting for it, up to a minute.'),
    throwIfInterrupted: () => interruption.throwIfInterrupted(),
    onProgress: ({ done, total, what }) => progress.show('Rebuilding', done, total, [what]),
    onCommit: () =>
      interruption.saysFromNowOn('Interrupted at its end: "pds audit" shows whether the index was rebuilt.'),
  })
    .catch((error: unknown) => {
      throw error instanceof ImportLockedError ? new CommandError(error.message, { cause: error }) : error;
    })
    .finally(progress.stop);
  output.done(jsonOf(reindexing), describe(reindexing));
}

function jsonOf({ timestamp, kinds, note }: Reindexing): object {
  return {
    published_at: timestamp,
    kinds: kinds.map(({ kind, records, isPlacedAgain }) => ({ kind, records, placed_again: isPlacedAgain })),
    notes: note === null ? [] : [note],
  };
}

function describe({ timestamp, kinds, note }: Reindexing): string[] {
  const rebuilt = kinds.map(({ kind, records }) => `${records} ${kind}`).join(', ');
  const placedAgain = kinds.filter(({ isPlacedAgain }) => isPlacedAgain).map(({ kind }) => kind);
  return [
    `Rebuilt the index of ${rebuilt} at ${timestamp}. No record changed.`,
    ...(placedAgain.length > 0
      ? [`Records were out of order in it and were placed again: ${placedAgain.join(', ')}.`]
      : []),
    ...(note === null ? [] : [note]),
  ];
}
