import { basename, resolve } from 'node:path';
import cliProgress from 'cli-progress';
import { withoutKeys } from '../access/keys.ts';
import { ImportLockedError } from '../publishing/lock.ts';
import { describeProblem, ImportRefusedError } from '../publishing/problems.ts';
import { publish, type PublicationReport } from '../publishing/publication.ts';
import { listSources, type Source } from '../publishing/source.ts';
import { CommandError } from './command-error.ts';
import type { CommandContext } from './context.ts';
import { renderColumns, type Output } from './output.ts';

export interface ImportOptions {
  replace: boolean;
  allowRemovals: boolean;
  dryRun: boolean;
}

/** How often a line is written where there is no terminal to draw a bar on. */
const PLAIN_LINE_EVERY_MS = 5_000;

/**
 * `pds import`: publishes a directory, all or nothing.
 *
 * @returns the exit code: 1 where the input was refused.
 */
export async function importDirectory(
  { database, clock, output }: CommandContext,
  directory: string,
  options: ImportOptions,
): Promise<number> {
  try {
    const sources = await listSources(directory);
    const progress = startProgress(sources, output);
    const report = await publish(database, sources, {
      clock,
      directory: withoutKeys(basename(resolve(directory))),
      ...options,
      onWaiting: () => output.note('Another import is running: waiting for it, up to a minute.'),
      onRead: progress.onRead,
    }).finally(progress.stop);
    output.done({ dry_run: options.dryRun, ...jsonOf(report) }, describeReport(report, directory, options));
    return 0;
  } catch (error) {
    if (error instanceof ImportLockedError) throw new CommandError(error.message, { cause: error });
    if (!(error instanceof ImportRefusedError)) throw error;
    const { problems } = error;
    for (const problem of problems) output.note(describeProblem(problem));
    const count =
      problems.length >= 100
        ? 'the first 100 problems'
        : `${problems.length} problem${problems.length === 1 ? '' : 's'}`;
    const message = `refused for ${count}; nothing was written`;
    output.note(`error: ${message}`);
    if (output.isJson) output.result({ error: { message, problems } }, '');
    return 1;
  }
}

/** A bar on a terminal; elsewhere a line now and then. */
function startProgress(sources: readonly Source[], output: Output): { onRead: typeof onRead; stop: () => void } {
  const totalBytes = sources.reduce((sum, { size }) => sum + size, 0);
  let bytes = 0;
  let records = 0;
  let lastLineAtMs: number | null = null;
  const bar = process.stderr.isTTY
    ? new cliProgress.SingleBar({
        format: 'Importing {bar} {percentage}% | {records} records | {file} | {eta_formatted} left',
        stream: process.stderr,
        clearOnComplete: true,
        hideCursor: true,
        // Batches take unequal times: an estimate from few of them jumps.
        etaBuffer: 200,
      })
    : null;
  bar?.start(totalBytes, 0, { records: 0, file: '' });
  const onRead = (source: Source, readBytes: number, lines: number): void => {
    bytes += readBytes;
    records += lines;
    bar?.update(bytes, { records, file: source.name });
    // The time begins with the first byte: before it, another import may have been waited for.
    lastLineAtMs ??= performance.now();
    if (bar === null && performance.now() - lastLineAtMs > PLAIN_LINE_EVERY_MS) {
      lastLineAtMs = performance.now();
      output.note(`Importing: ${Math.floor((100 * bytes) / totalBytes)} %, ${records} records, in ${source.name}`);
    }
  };
  return { onRead, stop: () => bar?.stop() };
}

function jsonOf({ instant, kinds, renderedAnew, notes }: PublicationReport): object {
  return { published_at: instant, kinds, rendered_anew: renderedAnew, notes };
}

function describeReport(report: PublicationReport, directory: string, { dryRun }: ImportOptions): string {
  const { instant, kinds, renderedAnew, notes } = report;
  const rows = Object.entries(kinds).map(([kind, counts]) => [
    ...[counts.added, counts.changed, counts.unchanged, counts.removed].map(String),
    kind,
  ]);
  const outcome = dryRun
    ? 'A dry run: nothing was written.'
    : instant === null
      ? 'Nothing changed, so nothing was published.'
      : `Published ${basename(directory)} at ${instant}.`;
  return [
    renderColumns([['ADDED', 'CHANGED', 'UNCHANGED', 'REMOVED', 'KIND'], ...rows]),
    ...(renderedAnew > 0 ? [`${renderedAnew} other records changed with what they embed.`] : []),
    ...notes,
    outcome,
  ].join('\n');
}
