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

/** Renders what a sync changed as one line with the time, in UTC. */
export function changesText({ kinds, isChanged }: SyncReport, finishedAt: Date): string {
  const changes = KINDS.flatMap((kind) => {
    const report = kinds[kind];
    const numbers = (['added', 'changed', 'removed'] as const).flatMap((change) => {
      const count = report?.[change] ?? 0;
      return count === 0 ? [] : [`${count.toLocaleString('en')} ${change}`];
    });
    return numbers.length === 0 ? [] : [`${kind} ${numbers.join(', ')}`];
  });
  // A kind that the key cannot read any more has no report.
  const others = isChanged ? 'records removed that the key cannot read' : 'no changes';
  return `${timeText(finishedAt)} ${changes.join('; ') || others}\n`;
}

/** A time to the second, in UTC. */
export function timeText(time: Date): string {
  return `${time.toISOString().slice(0, 19)}Z`;
}

/** Renders the result of a sync as one line of JSON. */
export function reportJson(
  { kinds, reset, isFirstCopy, watermark, dataCheckedAt }: SyncReport,
  finishedAt: Date,
): string {
  const times = { finished_at: finishedAt.toISOString(), data_checked_at: dataCheckedAt, watermark };
  const report = { ok: true, ...times, first_copy: isFirstCopy, reset, kinds };
  return `${JSON.stringify(report)}\n`;
}

/** Redraws one line of a terminal that shows how many changes were received so far; null clears it. */
export function progressText(received: number | null): string {
  return `\r\u001B[K${received === null ? '' : `${received.toLocaleString('en')} records received`}`;
}
