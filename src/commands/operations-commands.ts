import type { Command } from 'commander';
import { addCommand, onDatabase, run, type JsonOption } from './command-line.ts';
import { parseDays } from './option-values.ts';

/** Default of `--days`. */
const DEFAULT_DAYS = 30;

/** Commands for operating a running service: audit, checks, usage and roles. */
export function addOperationsCommands(program: Command): void {
  addCommand(program, 'audit')
    .description('show who changed partners, grants, keys and records, and when; the newest last')
    .option('--days <n>', 'how far back', parseDays, DEFAULT_DAYS)
    .option('--partner <name>', 'only what was done to this partner and its keys')
    .action((options: JsonOption & { days: number; partner?: string }) =>
      onDatabase(options, async (context) =>
        (await import('./audit.ts')).showAudit(context, { days: options.days, partner: options.partner ?? null }),
      ),
    );

  addCommand(program, 'check')
    .description('look at settings, database, replicas, Redis and clocks: what works, what does not, what to do')
    .option('--full', 'verify the whole index, not a sample: minutes per million records')
    .action((options: JsonOption & { full?: true }) =>
      run(options, async () => (await import('./check.ts')).check(options.json === true, options.full === true)),
    );

  addCommand(program, 'usage')
    .description('show what partners asked for, day by day in UTC')
    .argument('[name]', 'only this partner, by key and endpoint')
    .option('--days <n>', "how many days, today's included", parseDays, DEFAULT_DAYS)
    .action((name: string | undefined, options: JsonOption & { days: number }) =>
      onDatabase(options, async (context) =>
        (await import('./usage.ts')).showUsage(context, name ?? null, options.days),
      ),
    );

  addCommand(program, 'roles')
    .description('make the roles that serving and commands need on PostgreSQL, or bring them up to date')
    .option('--reader <name>', 'for pds serve: reads, and writes usage alone', 'pds_reader')
    .option('--writer <name>', 'for commands: imports, partners, grants and keys', 'pds_writer')
    .action((options: JsonOption & { reader: string; writer: string }) =>
      onDatabase(options, async (context) =>
        (await import('./roles.ts')).updateRoles(context, { reader: options.reader, writer: options.writer }),
      ),
    );
}
