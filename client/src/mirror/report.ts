import { KINDS } from './kinds.ts';
import type { SyncReport } from './sync.ts';

/** Renders the result of a sync as a table, with the number of records now in the copy. */
export function reportText({ kinds }: SyncReport): string {
  const rows: string[][] = [['', 'held', 'added', 'changed', 'removed']];
  for (const kind of KINDS) {
    const report = kinds[kind];
    const numbers = report === null ? [] : [report.held, report.added, report.changed, report.removed];
    rows.push([kind, ...(report === null ? ['no access'] : numbers.map((value) => value.toLocaleString('en')))]);
  }
  const widths = [0, 1, 2, 3, 4].map((column) => Math.max(...rows.map((row) => (row[column] ?? '').length)));
  const pad = (cell: string, column: number): string => cell[column === 0 ? 'padEnd' : 'padStart'](widths[column] ?? 0);
  return rows.map((row) => `${row.map(pad).join('  ').trimEnd()}\n`).join('');
}

/** Renders the result of a sync as one line of JSON. */
export function reportJson({ kinds, reset, isFirstCopy, watermark }: SyncReport, finishedAt: Date): string {
  const report = { ok: true, finished_at: finishedAt.toISOString(), watermark, first_copy: isFirstCopy, reset, kinds };
  return `${JSON.stringify(report)}\n`;
}

/** Redraws one line of a terminal that shows how many changes were received so far; null clears it. */
export function progressText(received: number | null): string {
  return `\r\u001B[K${received === null ? '' : `${received.toLocaleString('en')} records received`}`;
}
