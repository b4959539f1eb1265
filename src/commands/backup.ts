import manifest from '../../package.json' with { type: 'json' };
import type { Config } from '../config.ts';
import { backup, findPartialBackups } from '../recovery/backup.ts';
import { CommandError } from './command-error.ts';
import { configOfProcess } from './context.ts';
import { processOutput } from './output.ts';
import { startProgress } from './progress.ts';

const STEPS = { copying: 'Copying', checking: 'Checking the copy' };

/** `pds backup`: copies a consistent snapshot of a SQLite database into a new folder. */
export async function backupDatabase(isJson: boolean, directory: string): Promise<undefined> {
  const path = sqlitePath(configOfProcess(), 'pg_dump, or pg_basebackup with an archive of the write-ahead log');
  const output = processOutput(isJson);
  for (const partial of findPartialBackups(directory)) {
    output.note(
      `${partial} is what a backup that was cut off, or is running, has left: it can be removed if none runs.`,
    );
  }
  const progress = startProgress(output, 'Interrupted; no backup was made.');
  const made = await backup(path, directory, {
    clock: Date.now,
    version: manifest.version,
    onProgress: (step, done, total) => progress.show(STEPS[step], done, total),
  }).finally(progress.stop);
  const bytes = made.files.catalog.bytes + made.files.access.bytes;
  output.done(
    { directory, ...made },
    `Backed up ${path} to ${directory}: ${megabytes(bytes)}, the last event at ${made.last_event}. ` +
      'It holds the digests of keys and the secret of cursors: keep it where only operators can read it.',
  );
}

/**
 * The path of the SQLite database that a command works on.
 *
 * @param tools the PostgreSQL tools to use instead, for the error message.
 * @throws CommandError if the database is PostgreSQL.
 */
export function sqlitePath({ database }: Config, tools: string): string {
  if (database.engine === 'sqlite') return database.path;
  throw new CommandError(
    `this command is for SQLite. For PostgreSQL use its own tools: ${tools}; docs/operators.md tells how, and what to ` +
      'do after a restore ("pds recover")',
  );
}

function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(1)} MB`;
}
