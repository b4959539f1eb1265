import { basename, resolve } from 'node:path';
import { withoutKeys } from '../../access/keys.ts';
import { listSources, type Source } from '../../publishing/read/source.ts';
import { ConsentRequiredError } from '../../publishing/consent.ts';
import type { PublishOptions } from '../../publishing/publish.ts';
import { canAsk } from '../command-line.ts';
import { discarderOf } from '../../recovery/unused-database.ts';
import { configOfProcess, findSchemaState, withDatabase, type CommandContext } from '../context.ts';
import { OperatorError } from '../../operator-error.ts';
import { confirm } from '../output/progress.ts';
import type { Output } from '../output/output.ts';
import { describeReport, describeSkipped, jsonOfReport, listLostAccess, publishWithProgress } from './import-report.ts';

/** The options of `pds import`, as Commander parses them. */
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
  const state = await findSchemaState(config, 'command', output);
  const discard = (state?.isEmpty ?? true) ? discarderOf(config.database) : null;
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
