import type { IdleGrants } from '../../access/grant-check.ts';
import { publish, type ImportReport, type PublishOptions } from '../../publishing/publish.ts';
import { describeLostAccess } from '../../publishing/write/lost-access.ts';
import { type Source, findFile } from '../../publishing/read/source.ts';
import type { CommandContext } from '../context.ts';
import { renderColumns } from '../output/output.ts';
import { startProgress } from '../output/progress.ts';
import { createReadStream } from 'node:fs';
import { realpath } from 'node:fs/promises';

/**
 * Publishes sources, or only previews that, and shows the progress.
 *
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
    ...progress.hooks(doing, '"pds audit" shows whether it was published'),
    onRead: (source, readBytes, lines) => {
      bytes += readBytes;
      records += lines;
      progress.show(doing, bytes, totalBytes, [`${records} records`, source.kind]);
    },
  }).finally(progress.stop);
}

/** The report of an import or a preview as JSON. */
export function jsonOfReport(report: ImportReport, isPreview: boolean): object {
  const { timestamp, kinds, rerendered, lostAccess, notes } = report;
  const lost_access = lostAccess.map(({ partner, leadEntities, coops, seesNothing }) => {
    return { partner, lead_entities: leadEntities, coops, sees_nothing: seesNothing };
  });
  return { dry_run: isPreview, published_at: timestamp, kinds, rendered_anew: rerendered, lost_access, notes };
}

/** Partners listed in text; `--json` has all. */
const MAX_SHOWN_PARTNERS = 20;

/** Lines that name the partners that lose access. */
export function listLostAccess(lostAccess: readonly IdleGrants[]): string[] {
  const shown = lostAccess.slice(0, MAX_SHOWN_PARTNERS).map((lost) => `warning: ${describeLostAccess(lost)}.`);
  const more = lostAccess.length - shown.length;
  return more > 0 ? [...shown, `and ${more} more partners; "pds diff --json" lists all`] : shown;
}

/** The report as text: the totals, notes, and at last `outcome`. */
export function describeReport({ kinds, rerendered, lostAccess, notes }: ImportReport, outcome: string): string[] {
  const rows = Object.entries(kinds).map(([kind, counts]) => [
    ...[counts.added, counts.changed, counts.unchanged, counts.removed].map(String),
    kind,
  ]);
  return [
    ...renderColumns([['ADDED', 'CHANGED', 'UNCHANGED', 'REMOVED', 'KIND'], ...rows]),
    ...(rerendered > 0 ? [`Other records that changed because a record that they embed did: ${rerendered}.`] : []),
    ...listLostAccess(lostAccess),
    ...notes,
    outcome,
  ];
}

/** Longer than any note of a conversion. */
const MAX_BYTES = 128 * 1024;

/**
 * Describes what a conversion skipped when it wrote these sources, as lines: an import with `--replace` would remove
 * those records. Empty if it skipped nothing.
 */
export async function describeSkipped(directory: string, sources: readonly Source[]): Promise<string[]> {
  const folder = await realpath(directory);
  const kinds: string[] = [];
  const lines = new Set<string>();
  for (const { kind } of sources) {
    const file = await findFile(folder, `${kind}.skipped.txt`).catch(() => null);
    if (file === null) continue;
    const chunks = (await createReadStream(file.path, { end: MAX_BYTES - 1 }).toArray()) as Buffer[];
    kinds.push(kind);
    for (const line of Buffer.concat(chunks).toString().trimEnd().split('\n')) lines.add(line);
  }
  if (kinds.length === 0) return [];
  return [...lines, `The conversion skipped these. --replace removes their records of ${kinds.join(', ')}.`];
}
