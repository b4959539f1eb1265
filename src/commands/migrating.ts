import type { MigrateOptions } from '../database/migrator.ts';
import type { Output } from './output.ts';
import { startProgress, type Progress } from './progress.ts';

const INTERRUPTED = 'Interrupted; completed migrations stay, and the next run continues after them.';

/** Runs migrations, showing the progress of long ones. */
export async function migratingWithProgress<T>(
  output: Output,
  work: (options: Pick<MigrateOptions, 'onProgress' | 'onWaiting'>) => Promise<T>,
): Promise<T> {
  // Most migrations take less than a second and show nothing.
  let progress: Progress | null = null;
  try {
    return await work({
      onProgress: ({ done, total, what }) => {
        progress ??= startProgress(output, INTERRUPTED);
        progress.show(what, done, total);
      },
      onWaiting: () => output.note('An import or another migration is running: waiting for it, up to a minute.'),
    });
  } finally {
    (progress as Progress | null)?.stop();
  }
}
