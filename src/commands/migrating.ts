import type { DatabaseConfig } from '../config.ts';
import { pathOf } from '../database/configured.ts';
import type { MigrateOptions } from '../database/migrations/migrator.ts';
import { backUpBeside } from '../recovery/backup.ts';
import type { Output } from './output/output.ts';
import { startProgress, type Progress } from './output/progress.ts';

/**
 * Runs migrations, and shows the progress of long ones. Most take less than a second and show nothing.
 *
 * @returns those that ran, and the folder of the backup that was made before; null for none.
 */
export async function migratingWithProgress(
  output: Output,
  config: DatabaseConfig,
  work: (options: MigrateOptions) => Promise<string[]>,
): Promise<{ ran: string[]; backup: string | null }> {
  let progress: Progress | null = null;
  const show: Progress['show'] = (...step) => {
    progress ??= startProgress(
      output,
      'Interrupted; completed migrations stay, and the next run continues after them.',
    );
    progress.show(...step);
  };
  let backup: string | null = null;
  try {
    const ran = await work({
      onProgress: ({ done, total, what }) => show(what, done, total),
      onWaiting: () => output.note('Waiting up to a minute for a running import or migration to finish.'),
      beforeUpgrade: async () => {
        backup = await backUpBeforeUpgrade(config, (done, total) => show('Backing up the database', done, total));
        if (backup !== null)
          output.note(`Backed up the database before its upgrade, which cannot be undone: ${backup}`);
      },
    });
    return { ran, backup };
  } finally {
    (progress as Progress | null)?.stop();
  }
}

/** Backs up a SQLite database into a folder before its upgrade; null for PostgreSQL, which has tools of its own. */
export async function backUpBeforeUpgrade(
  config: DatabaseConfig,
  onProgress: (doneBytes: number, totalBytes: number) => void = () => undefined,
): Promise<string | null> {
  const path = pathOf(config);
  if (path === null) return null;
  return backUpBeside(path, {
    clock: Date.now,
    onProgress: (_, done, total) => onProgress(done, total),
  });
}
