import { basename } from 'node:path';
import { withoutKeys } from '../../access/keys.ts';
import { describeProblem, type ImportRefusedError } from '../../publishing/problems.ts';
import type { PublicationReport, PublishOptions } from '../../publishing/publication.ts';
import type { Source } from '../../publishing/read/source.ts';
import { renderColumns, type Output } from '../process/output.ts';
import type { Progress } from '../process/progress.ts';

/** Shows the progress of reading sources. */
export function showReading(
  sources: readonly Source[],
  progress: Progress,
  doing: string,
): Required<PublishOptions>['onRead'] {
  const totalBytes = sources.reduce((sum, { size }) => sum + size, 0);
  let bytes = 0;
  let records = 0;
  return (source, readBytes, lines) => {
    bytes += readBytes;
    records += lines;
    progress.show(doing, bytes, totalBytes, [`${records} records`, source.kind]);
  };
}

/** The report of an import or a preview as JSON. */
export function jsonOfReport({ timestamp, kinds, rerendered, notes }: PublicationReport, isPreview: boolean): object {
  return { dry_run: isPreview, published_at: timestamp, kinds, rendered_anew: rerendered, notes };
}

/** The report as text: the totals, notes, and at last `outcome`. */
export function describeReport({ kinds, rerendered, notes }: PublicationReport, outcome: string): string[] {
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

/** `Published sample at 2026-11-21T02:36:15.652Z.` */
export function describeOutcome({ timestamp }: PublicationReport, directory: string): string {
  if (timestamp === null) return 'Nothing changed, so nothing was published.';
  return `Published ${basename(directory)} at ${timestamp}.`;
}

/** Reports the problems of a refused import. */
export function reportRefusal(output: Output, error: ImportRefusedError): void {
  // Redact keys: an operator may have entered one in place of a directory.
  const problems = error.problems.map((problem) => ({ ...problem, file: withoutKeys(problem.file) }));
  output.note(problems.map(describeProblem));
  const count = error.isCutShort
    ? `many problems, of which the first ${problems.length} are listed`
    : `${error.count} problem${error.count === 1 ? '' : 's'}`;
  const message = `import rejected with ${count}; nothing was written`;
  output.note(`error: ${message}`);
  if (output.isJson) output.result({ error: { message, problems } }, '');
}
