import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { NoDatabaseError } from '../../database/errors.ts';
import { migrate } from '../../database/migrations/migrator.ts';
import { openForCommands } from '../../database/open.ts';
import { ImportRefusedError } from '../../publishing/problems.ts';
import { publish, type PublicationReport } from '../../publishing/publication.ts';
import { listSources, type Source } from '../../publishing/read/source.ts';
import { DIFF_CODES } from '../command-line.ts';
import { configOfProcess, withDatabase, type CommandContext } from '../context.ts';
import { listJsonChanges, listTextChanges } from '../preview/change-list.ts';
import { ChangeSpool } from '../preview/change-spool.ts';
import { processOutput } from '../process/output.ts';
import { startProgress } from '../process/progress.ts';
import { describeReport, jsonOfReport, reportRefusal, showReading } from './import-report.ts';

/** Records listed of each kind and sort of change as text, if `--show` does not set it. */
const DEFAULT_SHOWN = 20;

interface PreviewOptions {
  /** Described at `PublishOptions`. */
  readonly replace?: boolean;
  readonly allowRemovals?: boolean;
  /** Records to list of each kind and sort of change; infinite for all. */
  readonly show?: number;
}

/** The exit codes of a preview. */
interface PreviewCodes {
  /** If the import would change something. */
  readonly differs: number;
  /** If the input was refused. */
  readonly refused: number;
}

/** `pds diff`; see `previewDirectory`. */
export function diff(isJson: boolean, directory: string, options: PreviewOptions): Promise<number> {
  return previewDirectory(isJson, directory, options, DIFF_CODES);
}

/**
 * Reports what an import of a directory would do, record by record, and writes nothing: `pds import --dry-run` and
 * `pds diff`. Without a database, compares with an empty one.
 *
 * @returns the exit code: 0 if the import would change nothing.
 */
export async function previewDirectory(
  isJson: boolean,
  directory: string,
  options: PreviewOptions,
  codes: PreviewCodes,
): Promise<number> {
  const limit = options.show ?? (isJson ? Infinity : DEFAULT_SHOWN);
  const spool = new ChangeSpool(limit);
  try {
    // Reports wrong settings first.
    configOfProcess();
    const sources = await listSources(directory);
    let report: PublicationReport | undefined;
    await onDatabaseOrEmpty(isJson, async (context) => {
      report = await preview(context, sources, options, spool);
    });
    if (report === undefined) throw new Error('the preview returned no report');
    // For a reader that closes the pipe before the end.
    process.exitCode = isDifferent(report) ? codes.differs : 0;
    // After the database is closed: the reader of a long list can be slow.
    const output = processOutput(isJson);
    await output.list(jsonOfReport(report, true), 'changes', {
      json: () => listJsonChanges(spool),
      text: () => listTextChanges(spool, report?.kinds ?? {}, limit),
    });
    if (!isJson) output.note(describeReport(report, 'Dry run: nothing was written.'));
    return isDifferent(report) ? codes.differs : 0;
  } catch (error) {
    if (!(error instanceof ImportRefusedError)) throw error;
    reportRefusal(processOutput(isJson), error);
    return codes.refused;
  } finally {
    spool.close();
  }
}

function isDifferent({ kinds }: PublicationReport): boolean {
  return Object.values(kinds).some(({ added, changed, removed }) => added + changed + removed > 0);
}

/** Publishes sources as a dry run. */
async function preview(
  { database, clock, output }: CommandContext,
  sources: readonly Source[],
  { replace = false, allowRemovals = false }: PreviewOptions,
  changes: ChangeSpool,
): Promise<PublicationReport> {
  const progress = startProgress(output, 'Interrupted; nothing was written.');
  return publish(database, sources, {
    ...{ clock, replace, allowRemovals, changes },
    dryRun: true,
    onWaiting: () => output.note('Waiting up to a minute for a running import to finish.'),
    onRead: showReading(sources, progress, 'Comparing'),
    throwIfInterrupted: progress.throwIfInterrupted,
  }).finally(progress.stop);
}

/**
 * Checks sources on a temporary database, so that a refused import creates none.
 *
 * @throws ImportRefusedError with the input's problems.
 */
export async function checkSources(isJson: boolean, sources: readonly Source[]): Promise<void> {
  await onTemporaryDatabase(isJson, async ({ database, clock, output }) => {
    const progress = startProgress(output, 'Interrupted; nothing was published.');
    await publish(database, sources, {
      clock,
      dryRun: true,
      throwIfInterrupted: progress.throwIfInterrupted,
      onRead: showReading(sources, progress, 'Checking'),
    }).finally(progress.stop);
  });
}

type Work = (context: CommandContext) => Promise<void>;

/** Runs `work` as a dry run on the database; if there is none, on an empty one in a temporary folder. */
async function onDatabaseOrEmpty(isJson: boolean, work: Work): Promise<void> {
  try {
    await withDatabase(isJson, async (context) => work(context).then(() => undefined), { isDryRun: true });
    return;
  } catch (error) {
    if (!(error instanceof NoDatabaseError)) throw error;
  }
  const output = processOutput(isJson);
  output.note('There is no database yet (PDS_DATABASE_URL). This is a preview of an import into an empty one.');
  await onTemporaryDatabase(isJson, work);
}

/** Runs `work` on an empty database in a temporary folder. */
async function onTemporaryDatabase(isJson: boolean, work: Work): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'pds-dry-run-'));
  const remove = (): void => rmSync(folder, { recursive: true, force: true });
  // Also if a signal ends the process.
  process.once('exit', remove);
  const database = openForCommands({ engine: 'sqlite', path: join(folder, 'pds.sqlite') });
  try {
    await migrate(database, Date.now);
    await work({ config: configOfProcess(), database, clock: Date.now, output: processOutput(isJson) });
  } finally {
    await database.close();
    process.off('exit', remove);
    remove();
  }
}
