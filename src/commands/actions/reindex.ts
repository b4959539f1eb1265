import type { IndexedKind } from '../../kinds.ts';
import { reindex, type Reindexing } from '../../recovery/reindex.ts';
import type { CommandContext } from '../context.ts';
import { startProgress } from '../output/progress.ts';

/** `pds reindex`: rebuilds the index from the stored records, of all kinds unless some are named. */
export async function reindexDatabase(
  { database, clock, output }: CommandContext,
  { kind: kinds }: { kind?: readonly IndexedKind[] },
): Promise<undefined> {
  const progress = startProgress(output, 'Interrupted; nothing was changed.');
  const reindexing = await reindex(database, {
    clock,
    ...(kinds !== undefined && { kinds }),
    onWaiting: () => output.note('Waiting up to a minute for a running import to finish.'),
    throwIfInterrupted: progress.throwIfInterrupted,
    onProgress: ({ done, total, what }) => progress.show('Rebuilding', done, total, [what]),
    onCommit: () =>
      progress.setInterruptedMessage('Interrupted during the commit: "pds audit" shows whether the index was rebuilt.'),
  }).finally(progress.stop);
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
    ...(placedAgain.length > 0 ? [`Put records in order that were not: ${placedAgain.join(', ')}.`] : []),
    ...(note === null ? [] : [note]),
  ];
}
