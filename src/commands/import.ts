import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { withoutKeys } from '../access/keys.ts';
import { openForCommands } from '../database/database.ts';
import { NoDatabaseError } from '../database/errors.ts';
import { migrate } from '../database/migrator.ts';
import { ImportLockedError } from '../publishing/lock.ts';
import { describeProblem, ImportRefusedError } from '../publishing/problems.ts';
import { publish, type PublicationReport, type PublishOptions } from '../publishing/publication.ts';
import { listSources, type Source } from '../publishing/source.ts';
import { CommandError } from './command-error.ts';
import { configOfProcess, hasDatabase, withDatabase, type CommandContext } from './context.ts';
import { processOutput, renderColumns } from './output.ts';
import { startProgress, type Progress } from './progress.ts';

export interface ImportOptions {
  replace: boolean;
  allowRemovals: boolean;
  dryRun: boolean;
}

/**
 * `pds import`: publishes a directory, all or nothing.
 *
 * @returns the exit code: 1 if the input was refused.
 */
export async function importDirectory(isJson: boolean, directory: string, options: ImportOptions): Promise<number> {
  const output = processOutput(isJson);
  try {
    // Check settings and sources before creating a database.
    const config = configOfProcess();
    const sources = await listSources(directory);
    const work = (context: CommandContext): Promise<undefined> => publishSources(context, sources, directory, options);
    if (options.dryRun) await tryOut(isJson, work);
    else {
      if (isQuicklyChecked(sources) && !(await hasDatabase(config))) await checkSources(isJson, sources, options);
      await withDatabase(isJson, work, { mayCreate: true });
    }
    return 0;
  } catch (error) {
    if (error instanceof ImportLockedError) throw new CommandError(error.message, { cause: error });
    if (!(error instanceof ImportRefusedError)) throw error;
    // Redact keys: an operator may have entered one in place of a directory.
    const problems = error.problems.map((problem) => ({ ...problem, file: withoutKeys(problem.file) }));
    output.note(problems.map(describeProblem));
    const count = error.isCutShort
      ? `the first ${problems.length} different problems`
      : `${error.count} problem${error.count === 1 ? '' : 's'}`;
    const message = `refused for ${count}; nothing was written`;
    output.note(`error: ${message}`);
    if (output.isJson) output.result({ error: { message, problems } }, '');
    return 1;
  }
}

async function publishSources(
  { database, clock, output }: CommandContext,
  sources: readonly Source[],
  directory: string,
  options: ImportOptions,
): Promise<undefined> {
  const progress = startProgress(output, 'Interrupted; nothing was published.');
  const { interruption } = progress;
  const report = await publish(database, sources, {
    clock,
    directory: withoutKeys(basename(resolve(directory))),
    ...options,
    onWaiting: () => output.note('Another import is running: waiting for it, up to a minute.'),
    onRead: showReading(sources, progress),
    throwIfInterrupted: () => interruption.throwIfInterrupted(),
    onCommit: () => {
      interruption.saysFromNowOn('Interrupted while it was being published: "pds audit" shows whether it was.');
    },
  }).finally(progress.stop);
  output.done({ dry_run: options.dryRun, ...jsonOf(report) }, describeReport(report, directory, options));
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

/**
 * Checks sources on a temporary database, so that a refused import creates none.
 *
 * @throws ImportRefusedError with the input's problems.
 */
async function checkSources(isJson: boolean, sources: readonly Source[], options: ImportOptions): Promise<void> {
  await onTemporaryDatabase(isJson, async ({ database, clock, output }) => {
    const progress = startProgress(output, 'Interrupted; nothing was published.');
    await publish(database, sources, {
      clock,
      ...options,
      dryRun: true,
      throwIfInterrupted: () => progress.interruption.throwIfInterrupted(),
      onRead: showReading(sources, progress, 'Checking'),
    }).finally(progress.stop);
    return undefined;
  });
}

/** Runs `work` as a dry run on the database; if there is none, on an empty one in a temporary folder. */
async function tryOut(isJson: boolean, work: (context: CommandContext) => Promise<undefined>): Promise<void> {
  try {
    await withDatabase(isJson, work, { isDryRun: true });
    return;
  } catch (error) {
    if (!(error instanceof NoDatabaseError)) throw error;
  }
  const output = processOutput(isJson);
  output.note('There is no database yet (PDS_DATABASE_URL): this is what an import into an empty one would do.');
  await onTemporaryDatabase(isJson, work);
}

/** Runs `work` on an empty database in a temporary folder. */
async function onTemporaryDatabase(
  isJson: boolean,
  work: (context: CommandContext) => Promise<undefined>,
): Promise<void> {
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

function showReading(
  sources: readonly Source[],
  progress: Progress,
  doing = 'Importing',
): Required<PublishOptions>['onRead'] {
  const totalBytes = sources.reduce((sum, { size }) => sum + size, 0);
  let bytes = 0;
  let records = 0;
  return (source, readBytes, lines) => {
    bytes += readBytes;
    records += lines;
    progress.show(doing, bytes, totalBytes, [`${records} records`, source.name]);
  };
}

function jsonOf({ timestamp, kinds, rerendered, notes }: PublicationReport): object {
  return { published_at: timestamp, kinds, rendered_anew: rerendered, notes };
}

function describeReport(report: PublicationReport, directory: string, { dryRun }: ImportOptions): string[] {
  const { timestamp, kinds, rerendered, notes } = report;
  const rows = Object.entries(kinds).map(([kind, counts]) => [
    ...[counts.added, counts.changed, counts.unchanged, counts.removed].map(String),
    kind,
  ]);
  const outcome = dryRun
    ? 'A dry run: nothing was written.'
    : timestamp === null
      ? 'Nothing changed, so nothing was published.'
      : `Published ${basename(directory)} at ${timestamp}.`;
  return [
    ...renderColumns([['ADDED', 'CHANGED', 'UNCHANGED', 'REMOVED', 'KIND'], ...rows]),
    ...(rerendered > 0 ? [`${rerendered} other records changed with what they embed.`] : []),
    ...notes,
    outcome,
  ];
}
