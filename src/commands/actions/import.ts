import { basename, resolve } from 'node:path';
import { withoutKeys } from '../../access/keys.ts';
import { ImportRefusedError } from '../../publishing/problems.ts';
import { publish, type PublicationReport } from '../../publishing/publication.ts';
import { listSources, type Source } from '../../publishing/read/source.ts';
import { LargeRemovalsError, type LargeRemoval } from '../../publishing/write/removals.ts';
import { canAsk } from '../command-line.ts';
import { configOfProcess, hasDatabase, withDatabase, type CommandContext } from '../context.ts';
import { confirm } from '../process/confirm.ts';
import { processOutput } from '../process/output.ts';
import { startProgress } from '../process/progress.ts';
import { describeOutcome, describeReport, jsonOfReport, reportRefusal, showReading } from './import-report.ts';
import { checkSources, previewDirectory } from './preview.ts';

/** The options of `pds import`, as Commander parses them; described at `PublishOptions` and `PreviewOptions`. */
export interface ImportOptions {
  readonly replace?: boolean;
  readonly allowRemovals?: boolean;
  readonly dryRun?: boolean;
  readonly show?: number;
  /** Skips the prompt. */
  readonly yes?: boolean;
}

/**
 * `pds import`: publishes a directory, all or nothing.
 *
 * @returns the exit code: 1 if the input was refused.
 */
export async function importDirectory(isJson: boolean, directory: string, options: ImportOptions): Promise<number> {
  const { replace = false, allowRemovals = false, yes = false } = options;
  const removals = { replace, allowRemovals: allowRemovals || yes };
  if (options.dryRun === true) {
    const { show } = options;
    const codes = { differs: 0, refused: 1 };
    return previewDirectory(isJson, directory, { ...removals, ...(show !== undefined && { show }) }, codes);
  }
  try {
    // Check settings and sources before creating a database.
    const config = configOfProcess();
    const sources = await listSources(directory);
    if (isQuicklyChecked(sources) && !(await hasDatabase(config))) await checkSources(isJson, sources);
    await withDatabase(
      isJson,
      (context) => publishSources(context, sources, directory, { ...removals, confirmed: [] }),
      { mayCreate: true },
    );
    return 0;
  } catch (error) {
    if (!(error instanceof ImportRefusedError)) throw error;
    reportRefusal(processOutput(isJson), error);
    return 1;
  }
}

interface Removals {
  readonly replace: boolean;
  readonly allowRemovals: boolean;
  /** Confirmed by the operator. */
  readonly confirmed: readonly LargeRemoval[];
}

/** Imports sources. On a terminal, asks before it removes much, without holding a lock, and then imports again. */
async function publishSources(
  context: CommandContext,
  sources: readonly Source[],
  directory: string,
  removals: Removals,
): Promise<undefined> {
  const { output } = context;
  try {
    const report = await publishOnce(context, sources, directory, removals);
    output.done(jsonOfReport(report, false), describeReport(report, describeOutcome(report, directory)));
  } catch (error) {
    if (!(error instanceof LargeRemovalsError) || !canAsk()) throw error;
    output.note([
      ...error.removals.map(
        ({ kind, file, removed, stored }) =>
          `This import would remove ${removed} of ${stored} ${kind}: ${file} does not contain them.`,
      ),
      'That is more than a fifth. A file that was cut short looks the same.',
    ]);
    await confirm(output, 'Remove them?');
    const confirmed = [...removals.confirmed, ...error.removals];
    await publishSources(context, sources, directory, { ...removals, confirmed });
  }
}

async function publishOnce(
  { database, clock, output }: CommandContext,
  sources: readonly Source[],
  directory: string,
  { replace, allowRemovals, confirmed }: Removals,
): Promise<PublicationReport> {
  const progress = startProgress(output, 'Interrupted; nothing was published.');
  return publish(database, sources, {
    ...{ clock, replace, allowRemovals: allowRemovals || confirmed },
    directory: withoutKeys(basename(resolve(directory))),
    onWaiting: () => output.note('Waiting up to a minute for a running import to finish.'),
    onRead: showReading(sources, progress, 'Importing'),
    throwIfInterrupted: progress.throwIfInterrupted,
    onCommit: () =>
      progress.setInterruptedMessage('Interrupted during the commit: "pds audit" shows whether it was published.'),
  }).finally(progress.stop);
}

/**
 * Up to this total size, a first import is checked before its database is created. The check reads the files once more,
 * which would add minutes to larger imports.
 */
const MAX_CHECKED_BYTES = 64 * 1024 * 1024;

/** Records compress to about a tenth. */
const UNPACKED_PER_BYTE = 10;

function isQuicklyChecked(sources: readonly Source[]): boolean {
  const sizes = sources.map(({ name, size }) => (name.endsWith('.gz') ? UNPACKED_PER_BYTE * size : size));
  return sizes.reduce((sum, size) => sum + size, 0) <= MAX_CHECKED_BYTES;
}
