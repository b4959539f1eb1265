import { KINDS } from './kinds.ts';
import type { SyncReport } from './sync.ts';

/** Renders the result of a sync as a table, with the number of records now in the copy. */
export function reportText({ kinds }: SyncReport): string {
  const rows = KINDS.map((kind) => {
    const report = kinds[kind];
    if (report === null) return [kind, 'not in the copy: your key has no access'];
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
  return `${lines.join('\n')}\n`;
}

/** Renders the result of a sync as one line of JSON. */
export function reportJson({ kinds, reset, isFirstCopy, watermark }: SyncReport, finishedAt: Date): string {
  const report = { ok: true, finished_at: finishedAt.toISOString(), watermark, first_copy: isFirstCopy, reset, kinds };
  return `${JSON.stringify(report)}\n`;
}
