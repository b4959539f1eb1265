import { createReadStream } from 'node:fs';
import { realpath } from 'node:fs/promises';
import { basename, resolve } from 'node:path';
import { withoutKeys } from '../../access/keys.ts';
import { OperatorError } from '../../operator-error.ts';
import { ConsentRequiredError } from '../../publishing/consent.ts';
import { describeLoss, needsConsent, type Loss } from '../../publishing/losses.ts';
import { publish, type ImportReport, type PublishOptions } from '../../publishing/publish.ts';
import { findFile, listSources, type Source } from '../../publishing/read/source.ts';
import { INDEXED_KINDS } from '../../kinds.ts';
import { discarderOf } from '../../recovery/unused-database.ts';
import { canAsk } from '../command-line.ts';
import { isEmptyOrMissing, withDatabase, type CommandContext } from '../context.ts';
import { renderColumns, type Output } from '../output/output.ts';
import { confirm, startProgress } from '../output/progress.ts';
import { configOfProcess } from '../run-command.ts';

interface ImportOptions {
  readonly replace?: boolean;
  /** Allows large removals, and what takes access from partners, without a question. */
  readonly yes?: boolean;
}

/**
 * `pds import`: publishes a directory, all or nothing. A refused first import leaves no database.
 *
 * @throws ImportRefusedError with the input's problems.
 * @throws OperatorError if it would remove records that a conversion skipped, and nobody confirms that.
 */
export async function importDirectory(
  output: Output,
  directory: string,
  { replace = false, yes = false }: ImportOptions,
): Promise<undefined> {
  const options = { replace, allowRemovals: yes, allowLostAccess: yes };
  // Check settings and sources before creating a database.
  const config = configOfProcess();
  const sources = await listSources(directory);
  const skipped = replace ? await describeSkipped(directory, sources) : [];
  output.note(skipped);
  if (skipped.length > 0 && !yes) {
    if (!canAsk()) throw new OperatorError('nothing was changed; to remove those records, add --yes');
    await confirm(output, 'Import without them?');
  }
  const discard = (await isEmptyOrMissing(config, output)) ? discarderOf(config.database) : null;
  const work = (context: CommandContext): Promise<undefined> => publishSources(context, sources, directory, options);
  try {
    await withDatabase(output, work, { mayCreate: true, mayUpgrade: true });
  } catch (error) {
    await discard?.().catch(() => undefined);
    throw error;
  }
}

/**
 * Imports sources. On a terminal, asks before it removes much or takes access from partners, without holding a lock, and
 * then imports again.
 */
async function publishSources(
  context: CommandContext,
  sources: readonly Source[],
  path: string,
  options: Pick<PublishOptions, 'replace' | 'allowRemovals' | 'allowLostAccess'>,
): Promise<undefined> {
  const { output } = context;
  const display = { doing: 'Importing', interrupted: 'Interrupted; nothing was published.' };
  const directory = withoutKeys(basename(resolve(path)));
  try {
    const report = await publishWithProgress(context, sources, display, { directory, ...options });
    const outcome =
      report.timestamp === null
        ? 'Nothing changed, so nothing was published.'
        : `Published ${basename(path)} at ${report.timestamp}.`;
    output.done(jsonOfReport(report, false), describeReport(report, outcome));
  } catch (error) {
    if (!(error instanceof ConsentRequiredError) || !canAsk()) throw error;
    const { removals, lostAccess } = error.consequences;
    output.note([
      ...removals.map(
        ({ kind, file, removed, stored }) =>
          `This import would remove ${removed} of ${stored} ${kind}: ${file} does not contain them.`,
      ),
      ...(removals.length > 0 ? ['That is more than a fifth. A file that was cut short looks the same.'] : []),
      ...listLostAccess(lostAccess),
      ...(lostAccess.length > 0
        ? ['A lead entity or coop that is renamed can get another id: grant that one, too.']
        : []),
    ]);
    await confirm(output, removals.length > 0 ? 'Remove them?' : 'Import anyway?');
    await publishSources(context, sources, path, { ...options, allowRemovals: true, allowLostAccess: true });
  }
}

/** Publishes sources, or only previews that. `interrupted` is the message if a signal ends it before the commit. */
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

export function jsonOfReport(report: ImportReport, isPreview: boolean): object {
  const { timestamp, kinds, rerendered, losses, notes } = report;
  const lostAccess = losses.filter(needsConsent);
  return { dryRun: isPreview, publishedAt: timestamp, kinds, renderedAnew: rerendered, lostAccess, losses, notes };
}

/** Partners listed in text; `--json` has all. */
const MAX_SHOWN_PARTNERS = 20;

function listLostAccess(lostAccess: readonly Loss[]): string[] {
  const warnings = lostAccess.slice(0, MAX_SHOWN_PARTNERS).map((lost) => `warning: ${describeLoss(lost)}.`);
  const more = lostAccess.length - warnings.length;
  return more > 0 ? [...warnings, `and ${more} more partners; "pds diff --json" lists all`] : warnings;
}

function tabulateLosses(losses: readonly Loss[]): string[] {
  if (losses.length === 0) return [];
  const rows = losses.slice(0, MAX_SHOWN_PARTNERS).map(({ partner, records }) => [
    ...INDEXED_KINDS.map((kind) => {
      const { before, lost, gained } = records[kind] ?? { before: 0, lost: 0, gained: 0 };
      return lost + gained === 0 ? '-' : `-${lost} +${gained} of ${before}`;
    }),
    partner,
  ]);
  const heading = [...INDEXED_KINDS.map((kind) => kind.toUpperCase()), 'PARTNER THAT LOSES RECORDS'];
  const more = losses.length - rows.length;
  return [...renderColumns([heading, ...rows]), ...(more > 0 ? [`and ${more} more partners; --json lists all`] : [])];
}

/** The report as text: the totals, notes, what partners lose, and at last `outcome`. */
export function describeReport({ kinds, rerendered, losses, notes }: ImportReport, outcome: string): string[] {
  const rows = Object.entries(kinds).map(([kind, counts]) => [
    ...[counts.added, counts.changed, counts.unchanged, counts.removed].map(String),
    kind,
  ]);
  return [
    ...renderColumns([['ADDED', 'CHANGED', 'UNCHANGED', 'REMOVED', 'KIND'], ...rows]),
    ...(rerendered > 0 ? [`Other records that changed because a record that they embed did: ${rerendered}.`] : []),
    ...listLostAccess(losses.filter(needsConsent)),
    ...notes,
    ...tabulateLosses(losses),
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
