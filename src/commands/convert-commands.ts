import { Option, type Command } from 'commander';
import { addCommand, parseTime, parseZone, run } from './command-line.ts';

/** Adds `pds convert`. */
export function addConvertCommands(program: Command): void {
  const convert = program.command('convert').description('write other formats as an import directory');

  addCommand(convert, 'ocds', 'convert releases and records of the Open Contracting Data Standard')
    .argument('<input...>', 'files: packages, records, releases or JSON lines, also gzipped')
    .requiredOption('--out <dir>', 'directory to write')
    .option('--map <file>', 'JSON with your own statuses and services')
    .addOption(
      new Option('--contracts <which>', 'contracts that have not ended, all signed ones, awards as well, or none')
        .choices(['current', 'signed', 'awards', 'none'])
        .default('current'),
    )
    .option('--as-of <timestamp>', 'contracts that ended before are not current (default: now)', parseTime)
    .option('--zone <zone>', 'time zone of dates without a time, such as America/Chicago', parseZone)
    .option('--call-offs', 'keep contracts under a framework agreement')
    .option('--contact-points', 'keep the e-mail addresses of suppliers')
    .option('--coop <name>', 'the cooperative of all contracts')
    .option('--skip-refused', 'write the rest even if something was refused')
    .action(run(async () => (await import('./actions/convert.ts')).convertFromOcds));

  addCommand(convert, 'csv', 'convert CSV files by a map of their columns')
    .option('--map <file>', 'JSON that says which column is which field')
    .option('--out <dir>', 'directory to write')
    .option('--sketch <file>', 'print a first map of this CSV file, to be edited')
    .option('--skip-refused', 'write the rest even if something was refused')
    .action(run(async () => (await import('./actions/convert.ts')).convertFromCsv));
}
