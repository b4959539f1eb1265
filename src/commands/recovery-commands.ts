import type { Command } from 'commander';
import { addCommand, onDatabase, run, type JsonOption } from './command-line.ts';
import type { IndexedKind } from '../index/terms.ts';
import { collectIndexedKind, parseAfter } from './option-values.ts';
import { canAsk } from './question.ts';

interface RecoverOptions extends JsonOption {
  after?: string;
  dryRun?: true;
  yes?: true;
}

/** Commands for backups and for recovering from data loss. */
export function addRecoveryCommands(program: Command): void {
  addCommand(program, 'backup')
    .description('copy a SQLite database into a new folder, as of one moment, while servers and imports run')
    .argument('<dir>', 'a folder that is not there yet')
    .action((directory: string, options: JsonOption) =>
      run(options, async () => (await import('./backup.ts')).backupDatabase(isJson(options), directory)),
    );

  addCommand(program, 'restore')
    .description('put a backup in the place of a SQLite database, which nothing may be using')
    .argument('<dir>', 'a folder that "pds backup" made')
    .option('--after <instant>', 'an instant that partners may have seen, such as 2026-04-15T09:00:00Z', parseAfter)
    .action((directory: string, options: JsonOption & { after?: string }) =>
      run(options, async () =>
        (await import('./restore.ts')).restoreDatabase(isJson(options), directory, options.after),
      ),
    );

  addCommand(program, 'recover')
    .description('go on after history was lost: a standby was promoted, or a backup restored by other means')
    .option('--after <instant>', 'an instant that partners may have seen, such as 2026-04-15T09:00:00Z', parseAfter)
    .option('--dry-run', 'only report what would change')
    .option('--yes', 'do not ask first')
    .action((options: RecoverOptions, command: Command) => {
      const { after, dryRun: isDryRun = false, yes: isConfirmed = false } = options;
      if (!isDryRun && !isConfirmed && !canAsk()) {
        const typed = `pds recover${after === undefined ? '' : ` --after ${after}`}`;
        command.error(
          `error: every partner reads all records again after a recovery, and there is no terminal to ask on. See what it ` +
            `would do with "${typed} --dry-run", then run "${typed} --yes"`,
        );
      }
      return onDatabase(
        options,
        async (context) => (await import('./recover.ts')).recoverDatabase(context, { after, isDryRun, isConfirmed }),
        // Otherwise it would warn that `pds recover` must be run.
        { recovers: true, isDryRun },
      );
    });

  addCommand(program, 'reindex')
    .description('rebuild the index from the stored records, while servers run; partners notice nothing')
    .option(
      '--kind <kind>',
      'suppliers, contracts or solicitations; may be repeated (default: all)',
      collectIndexedKind,
    )
    .action((options: JsonOption & { kind?: IndexedKind[] }) =>
      onDatabase(options, async (context) =>
        (await import('./reindex.ts')).reindexDatabase(context, options.kind ?? null),
      ),
    );
}

const isJson = (options: JsonOption): boolean => options.json === true;
