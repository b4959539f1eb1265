import type { Command } from 'commander';
import { addCommand, onDatabase, type JsonOption } from './command-line.ts';
import { parseAfter } from './option-values.ts';

/** The commands for the day on which something was lost, and for the days before. */
export function addRecoveryCommands(program: Command): void {
  addCommand(program, 'recover')
    .description('go on after history was lost: a standby was promoted, or a backup restored by other means')
    .option('--after <instant>', 'an instant that partners may have seen, such as 2026-04-15T09:00:00Z', parseAfter)
    .action((options: JsonOption & { after?: string }) =>
      onDatabase(
        options,
        async (context) => (await import('./recover.ts')).recoverDatabase(context, options.after),
        // Otherwise it would name itself as what has to be done.
        { recovers: true },
      ),
    );
}
