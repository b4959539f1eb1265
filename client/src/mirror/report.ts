import { KINDS } from './kinds.ts';
import type { SyncReport } from './sync.ts';

/** Renders the result of a sync as a table, with the number of records now in the copy. */
export function reportText({ kinds, details, reconciled }: SyncReport): string {
  const rows = KINDS.map((kind) => {
    const report = kinds[kind];
    if (report === null) return [kind, 'skipped: your key has no access'];
    const { held, added, changed, removed } = report;
    return [kind, ...[held, added, changed, removed].map((value) => value.toLocaleString('en'))];
  });
  const table = [['', 'held', 'added', 'changed', 'removed'], ...rows];
  const widths = [0, 1, 2, 3, 4].map((column) =>
    Math.max(...table.filter((row) => row.length > 2 || column === 0).map((row) => (row[column] ?? '').length)),
  );
  const lines = table.map((row) =>
    row
      .map((cell, column) =>
        column === 0 || row.length === 2 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0),
      )
      .join('  ')
      .trimEnd(),
  );
  if (details !== null) lines.push(`details: ${details.read} read, ${details.changed} new or changed`);
  if (!reconciled) lines.push('Run with --reconcile to find records that the service no longer has.');
  return `${lines.join('\n')}\n`;
}

/** Renders the result of a sync as one line of JSON. */
export function reportJson({ kinds, details, reconciled }: SyncReport, finishedAt: Date): string {
  return `${JSON.stringify({ ok: true, finished_at: finishedAt.toISOString(), reconciled, kinds, details })}\n`;
}
