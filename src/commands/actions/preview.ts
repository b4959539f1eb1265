import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { NoDatabaseError } from '../../database/database.ts';
import { migrate } from '../../database/migrations/migrator.ts';
import { openForCommands } from '../../database/open.ts';
import { listSources } from '../../publishing/read/source.ts';
import { configOfProcess, withDatabase, type CommandContext } from '../context.ts';
import { listJsonChanges, listTextChanges, ChangeSpool } from './change-list.ts';
import type { Output } from '../output/output.ts';
import { describeReport, jsonOfReport, publishWithProgress, describeSkipped } from './import-report.ts';

/** Records listed of each kind and sort of change as text, if `--show` does not set it. */
const DEFAULT_SHOWN = 20;

interface DiffOptions {
  /** Described at `PublishOptions`. */
  readonly replace?: boolean;
  /** Records to list of each kind and sort of change; infinite for all. */
  readonly show?: number;
}

/**
 * `pds diff`: reports what an import of a directory would do, record by record, and writes nothing. Without a database,
 * compares with an empty one.
 *
 * @returns the exit code, as of diff(1): 1 if the import would change something, otherwise 0.
 * @throws ImportRefusedError with the input's problems.
 */
export async function diff(output: Output, directory: string, { replace = false, show }: DiffOptions): Promise<number> {
  const limit = show ?? (output.isJson ? Infinity : DEFAULT_SHOWN);
  const changes = new ChangeSpool(limit);
  try {
    // Reports wrong settings first.
    configOfProcess();
    const sources = await listSources(directory);
    if (replace) output.note(await describeSkipped(directory, sources));
    const report = await onDatabaseOrEmpty(output, (context) => {
      const display = { doing: 'Comparing', interrupted: 'Interrupted; nothing was written.' };
      return publishWithProgress(context, sources, display, { replace, changes, dryRun: true });
    });
    const isDifferent = Object.values(report.kinds).some(
      ({ added, changed, removed }) => added + changed + removed > 0,
    );
    const exitCode = isDifferent ? 1 : 0;
    // For a reader that closes the pipe before the end.
    process.exitCode = exitCode;
    // After the database is closed: the reader of a long list can be slow.
    await output.list(jsonOfReport(report, true), 'changes', {
      json: () => listJsonChanges(changes),
      text: () => listTextChanges(changes, report.kinds, limit),
    });
    if (!output.isJson) output.note(describeReport(report, 'Nothing was written.'));
    return exitCode;
  } finally {
    changes.close();
  }
}

/** Runs `work` as a dry run on the database; if there is none, on an empty one in a temporary folder. */
async function onDatabaseOrEmpty<T>(output: Output, work: (context: CommandContext) => Promise<T>): Promise<T> {
  try {
    return await withDatabase(output, work, { isDryRun: true });
  } catch (error) {
    if (!(error instanceof NoDatabaseError)) throw error;
  }
  output.note('There is no database yet (PDS_DATABASE_URL). This is a preview of an import into an empty one.');
  const folder = mkdtempSync(join(tmpdir(), 'pds-diff-'));
  using cleanup = new DisposableStack();
  cleanup.defer(() => rmSync(folder, { recursive: true, force: true }));
  // Also if a signal ends the process.
  process.once('exit', () => cleanup.dispose());
  await using database = openForCommands({ engine: 'sqlite', path: join(folder, 'pds.sqlite') });
  await migrate(database, Date.now);
  return await work({ config: configOfProcess(), database, clock: Date.now, output });
}
