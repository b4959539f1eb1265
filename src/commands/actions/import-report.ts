import { publish, type ImportReport, type PublishOptions } from '../../publishing/publish.ts';
import type { Source } from '../../publishing/read/source.ts';
import type { CommandContext } from '../context.ts';
import { renderColumns } from '../output/output.ts';
import { startProgress } from '../output/progress.ts';

/**
 * Publishes sources, or only previews that, and shows the progress.
 *
 * @param doing such as `Importing`.
 * @param interrupted the message if a signal ends it before the commit.
 */
export async function publishWithProgress(
  { config, database, clock, output }: CommandContext,
  sources: readonly Source[],
  { doing, interrupted }: { doing: string; interrupted: string },
  options: Omit<PublishOptions, 'clock'>,
): Promise<ImportReport> {
  const progress = startProgress(output, interrupted);
  const totalBytes = sources.reduce((sum, { size }) => sum + size, 0);
  let bytes = 0;
  let records = 0;
  return publish(database, sources, {
    ...options,
    removalsDays: config.removalsDays,
    clock,
    onWaiting: () => output.note('Waiting up to a minute for a running import to finish.'),
    onRead: (source, readBytes, lines) => {
      bytes += readBytes;
      records += lines;
      progress.show(doing, bytes, totalBytes, [`${records} records`, source.kind]);
    },
    throwIfInterrupted: progress.throwIfInterrupted,
    onCommit: () =>
      progress.setInterruptedMessage('Interrupted during the commit: "pds audit" shows whether it was published.'),
  }).finally(progress.stop);
}

/** The report of an import or a preview as JSON. */
export function jsonOfReport({ timestamp, kinds, rerendered, notes }: ImportReport, isPreview: boolean): object {
  return { dry_run: isPreview, published_at: timestamp, kinds, rendered_anew: rerendered, notes };
}

/** The report as text: the totals, notes, and at last `outcome`. */
export function describeReport({ kinds, rerendered, notes }: ImportReport, outcome: string): string[] {
  const rows = Object.entries(kinds).map(([kind, counts]) => [
    ...[counts.added, counts.changed, counts.unchanged, counts.removed].map(String),
    kind,
  ]);
  return [
    ...renderColumns([['ADDED', 'CHANGED', 'UNCHANGED', 'REMOVED', 'KIND'], ...rows]),
    ...(rerendered > 0 ? [`${rerendered} other records changed because a record that they embed did.`] : []),
    ...notes,
    outcome,
  ];
}
