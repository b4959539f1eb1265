import { exportCatalog } from '../../recovery/export.ts';
import type { CommandContext } from '../context.ts';
import { renderColumns } from '../output/output.ts';
import { startProgress } from '../output/progress.ts';

/** `pds export`: writes the catalog into a new folder, in the format of imports. */
export async function exportDirectory({ database, output }: CommandContext, directory: string): Promise<undefined> {
  const progress = startProgress(output, 'Interrupted; nothing was exported.');
  const { publishedAt, kinds, notes } = await exportCatalog(database, directory, ({ done, total, what }) =>
    progress.show('Exporting', done, total, [what]),
  ).finally(progress.stop);
  const rows = Object.entries(kinds).map(([kind, records]) => [String(records), kind]);
  output.done({ directory, publishedAt, kinds, notes }, [
    ...renderColumns([['RECORDS', 'KIND'], ...rows]),
    ...notes,
    publishedAt === null
      ? `Exported an empty catalog to ${directory}.`
      : `Exported the release at ${publishedAt} to ${directory}. To undo later imports: pds import ${directory} --replace`,
  ]);
}
