import { styleText } from 'node:util';
import tab from '@bomb.sh/tab/commander';
import { Argument, Command, CommanderError, Option } from 'commander';
import manifest from '../../package.json' with { type: 'json' };
import { withoutKeys } from '../access/keys.ts';
import { KINDS_AS_LISTED } from '../kinds.ts';
import { printable } from '../printable.ts';
import type { RecoverOptions } from './actions/recovery.ts';
import {
  addCommand,
  addCommonOptions,
  NO_RESULT,
  onDatabase,
  parseAfter,
  parseLimit,
  parseTime,
  parseZone,
  requireAnswer,
  run,
  wholeNumber,
} from './command-line.ts';
import { addFindCommand, addKeyCommands, addPartnerCommands } from './partner-commands.ts';
import { explainRemoved } from './removed.ts';
import { LOG_FORMATS } from '../settings.ts';

// The commands of `pds`. Their actions are loaded on use: help and usage errors need no database driver.

const WRONG_USAGE = 2;

const MAX_DAYS = 36_500;
const DEFAULT_DAYS = 30;

const MAX_NUMBER = Number.MAX_SAFE_INTEGER;

const convertActions = () => import('./actions/convert.ts');
const recoveryActions = () => import('./actions/recovery.ts');
const databaseActions = () => import('./actions/database.ts');

const EXAMPLES = `
Examples:
  $ pds serve --demo                      serve the sample data
  $ pds diff my-directory                 list what an import would change
  $ pds partner create acme --everything
  $ pds key issue acme --expires-in 365d
  $ pds check                             find out what is wrong
`;

const bold = (text: string): string => styleText('bold', text, { stream: process.stdout });
const cyan = (text: string): string => styleText('cyan', text, { stream: process.stdout });

export const program: Command = addCommonOptions(new Command('pds'))
  .description('Partner data service: a read-only JSON API for the partners of a purchasing marketplace.')
  .version(manifest.version)
  .configureHelp({ styleTitle: bold, styleCommandText: cyan, styleOptionText: cyan, styleSubcommandText: cyan })
  .addHelpText('after', EXAMPLES)
  .configureOutput({
    outputError: (message, write) => write(printableError(withoutKeys(explainRemoved(message, program.args)))),
  })
  .exitOverride();

program.commandsGroup('Serving and importing:');

addCommand(program, 'serve', 'serve the API until stopped')
  .option('--host <host>', 'address to listen on (overrides PDS_HOST)')
  .option('--port <port>', 'port to listen on (overrides PDS_PORT)', wholeNumber(0, 65_535))
  .option('--reuse-port', 'share the port with other services that do (overrides PDS_REUSE_PORT)')
  .option('--admin-port <port>', 'port of the admin server (overrides PDS_ADMIN_PORT)', wholeNumber(0, 65_535))
  .addOption(
    new Option('--log-format <format>', 'JSON lines, or lines for people (auto: if stdout is a terminal)')
      .choices(LOG_FORMATS)
      .default('auto'),
  )
  .option('--demo', 'load sample data and a public demo key into an empty database (dev only)')
  .action(run(async () => (await import('./serve/serve.ts')).serve));

addCommand(program, 'import', 'import a directory, all or nothing')
  .argument('<dir>', 'directory with contracts.ndjson, suppliers.ndjson, … (or .ndjson.gz)')
  .option('--replace', 'also remove records that the files of their kind no longer contain')
  .option('--yes', 'remove many records, or take access from partners, without asking')
  .action(run(async () => (await import('./actions/import.ts')).importDirectory));

addCommand(program, 'diff', 'list what an import of a directory would change')
  .argument('<dir>', 'directory as for "pds import"')
  .option('--replace', 'also list records that the files of their kind do not contain')
  .option(
    '--show <n>',
    'records to list of each kind and sort of change, or "all" (default: 20, or all with --json)',
    parseLimit,
  )
  .addHelpText('after', '\nExit code: 0 if an import would change nothing, 1 if it would, 2 if that is unknown.')
  .action(run(async () => (await import('./actions/diff.ts')).diff, NO_RESULT));

addCommand(program, 'export', 'write the catalog as a directory for "pds import"')
  .argument('<dir>', 'a directory that does not exist yet')
  .addHelpText('after', '\nIt contains drafts too. "pds import <dir> --replace" undoes the imports since.')
  .action(onDatabase(async () => (await databaseActions()).exportDirectory));

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
  .option('--skip-refused', 'write the rest even if something was refused')
  .action(run(async () => (await convertActions()).convertFromOcds));

addCommand(convert, 'csv', 'convert CSV files by a map of their columns')
  .option('--map <file>', 'JSON that maps columns to fields')
  .option('--out <dir>', 'directory to write')
  .option('--sketch <file...>', 'print a first map of these CSV files, to be edited')
  .option('--skip-refused', 'write the rest even if something was refused')
  .action(run(async () => (await convertActions()).convertFromCsv));

program.commandsGroup('Partners and keys:');

addPartnerCommands(program);
addFindCommand(program);
addKeyCommands(program);

addCommand(program, 'explain', 'explain whether a partner sees a record, why, and what would show it')
  .argument('<partner>', 'its name')
  .addArgument(new Argument('<kind>', 'the kind of the record').choices(KINDS_AS_LISTED))
  .argument('<id>', 'its id; also the ref of a solicitation, the abbreviation of a certification')
  .addHelpText('after', '\nExit code: 0 if the partner sees the record, 1 if it does not, 2 if that is unknown.')
  .action(onDatabase(async () => (await import('./actions/reports.ts')).explainRecord, {}, NO_RESULT));

addCommand(program, 'usage', 'show the requests of partners by day')
  .argument('[name]', 'only this partner, by key and endpoint')
  .option('--days <n>', 'number of days, including today', wholeNumber(1, MAX_DAYS), DEFAULT_DAYS)
  .action(onDatabase(async () => (await import('./actions/reports.ts')).showUsage));

addCommand(program, 'audit', 'list changes of partners, keys and records')
  .option('--days <n>', 'number of days to list', wholeNumber(1, MAX_DAYS), DEFAULT_DAYS)
  .option('--partner <name>', 'only changes of this partner and its keys')
  .action(onDatabase(async () => (await import('./actions/reports.ts')).showAudit));

program.commandsGroup('Installation:');

addCommand(program, 'config', 'print the settings in force, and where each is set')
  .option('--host <host>', 'as for "pds serve"')
  .option('--port <port>', 'as for "pds serve"')
  .option('--reuse-port', 'as for "pds serve"')
  .option('--admin-port <port>', 'as for "pds serve"')
  .action(run(async () => (await import('./actions/config.ts')).showConfig));

addCommand(program, 'check', 'check the installation, and advise on problems')
  .option('--full', "verify the whole index, not a sample, and SQLite's own: minutes per million records")
  .action(run(async () => (await import('./actions/check.ts')).check));

program.commandsGroup('Database:');

addCommand(program, 'migrate', 'migrate the database schema to this version').action(
  // Otherwise an older schema would be refused before the migration.
  onDatabase(async () => (await databaseActions()).migrateDatabase, { mayCreate: true, shouldPrepare: false }),
);

addCommand(program, 'reindex', 'rebuild the index while servers run').action(
  onDatabase(async () => (await databaseActions()).reindexDatabase),
);

addCommand(program, 'roles', 'create or update the PostgreSQL roles')
  .option('--reader <name>', 'role for pds serve: reads, and writes only usage', 'pds_reader')
  .option('--writer <name>', 'role for commands: imports, partners, grants and keys', 'pds_writer')
  .action(onDatabase(async () => (await databaseActions()).updateRoles));

addCommand(program, 'transfer', 'copy everything from SQLite into an empty PostgreSQL database')
  .argument('<url>', 'the empty database: postgres://…')
  .action(onDatabase(async () => (await databaseActions()).transferDatabase));

program.commandsGroup('Backup and recovery:');

addCommand(program, 'backup', 'copy a SQLite database while servers run')
  .argument('<dir>', 'a directory that does not exist yet, or with --keep one of dated backups')
  .option('--keep <n>', 'make a dated backup in the directory, and remove all but the last n', wholeNumber(1, 10_000))
  .action(run(async () => (await recoveryActions()).backupDatabase));

addCommand(program, 'restore', 'replace the catalog of a SQLite database with a backup')
  .argument('<dir>', 'a directory created by "pds backup"')
  .option('--access', 'also restore partners, keys and grants; every partner is then suspended')
  .option('--after <timestamp>', 'a timestamp that partners may have seen: 2026-04-15T09:00:00Z', parseAfter)
  .option('--yes', 'do not ask for confirmation')
  .action(run(async () => (await recoveryActions()).restoreDatabase));

addCommand(program, 'releases', 'list releases, and which of them "pds rollback" can go back to')
  .option('--limit <n>', 'number of releases to list', wholeNumber(1, 100_000), 20)
  .action(onDatabase(async () => (await recoveryActions()).listDatabaseReleases, { mayLackCatalog: true }));

addCommand(program, 'rollback', 'go back to the records of an earlier release (SQLite)')
  .argument(
    '[release]',
    'its number (default: the one that the current release was made from)',
    wholeNumber(1, MAX_NUMBER),
  )
  .option('--yes', 'do not ask for confirmation')
  .hook('preAction', (command) => {
    const typed = ['pds rollback', ...command.args].join(' ');
    requireAnswer(command, 'every partner reads all records again after a rollback', `Run "${typed} --yes"`);
  })
  .action(onDatabase(async () => (await recoveryActions()).rollbackDatabase, { mayLackCatalog: true }));

addCommand(program, 'recover', 'resume service after lost changes')
  .option('--after <timestamp>', 'a timestamp that partners may have seen: 2026-04-15T09:00:00Z', parseAfter)
  .addOption(
    new Option('--nothing-lost', 'only record that PostgreSQL was promoted: partners read nothing again').conflicts(
      'after',
    ),
  )
  .option('--yes', 'do not ask for confirmation')
  .hook('preAction', (command) => {
    const { after, nothingLost = false } = command.opts<RecoverOptions>();
    if (nothingLost) return;
    const typed = `pds recover${after === undefined ? '' : ` --after ${after}`}`;
    requireAnswer(command, 'every partner reads all records again after a recovery', `Run "${typed} --yes"`);
  })
  // Otherwise it would warn that `pds recover` must be run.
  .action(onDatabase(async () => (await recoveryActions()).recoverDatabase, { recovers: true }));

program.commandsGroup('Other:');

program.addHelpCommand(new Command('help').argument('[command]').description('show help for a command'));

tab(program, { completionCommandName: 'completion' });

/** The script needs only this function of the package bash-completion, which many machines do not have. */
const WITHOUT_BASH_COMPLETION = `declare -F _get_comp_words_by_ref >/dev/null || _get_comp_words_by_ref() {
    words=("\${COMP_WORDS[@]}") cword=$COMP_CWORD cur=\${COMP_WORDS[COMP_CWORD]}
}
`;

const completion = program.commands.find((command) => command.name() === 'completion');
completion?.registeredArguments[0]?.choices(['bash', 'zsh', 'fish']);
completion?.hook('preAction', ({ args: [shell] }) => {
  if (shell === 'bash') process.stdout.write(WITHOUT_BASH_COMPLETION);
});

/** How long pending work can delay the exit of a check. */
const LINGER_MS = 500;

/** Runs this process's command line and sets its exit code. */
export async function runProgram(): Promise<void> {
  // A reader that closes the pipe, such as `head`, is not a failure.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(process.exitCode ?? 0);
    process.stderr.write(
      `error: cannot write the output: ${error.message}. Changes that the command made, if any, were not undone. If a ` +
        'key was lost, revoke it and issue another\n',
    );
    process.exit(/^(diff\b|explain\b|key find$)/.test(program.args.join(' ')) ? NO_RESULT : 1);
  });
  // A broken stderr does not fail the command.
  process.stderr.on('error', () => undefined);
  await runWords(process.argv.slice(2));
  // A check stops waiting for a slow DNS lookup, which can go on for minutes.
  if (program.args[0] === 'check') setTimeout(() => process.exit(), LINGER_MS).unref();
}

/** Runs a command line, given without `pds`, and sets this process's exit code. */
export async function runWords(words: readonly string[]): Promise<void> {
  try {
    await program.parseAsync(words, { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    process.exitCode = error.exitCode === 0 ? 0 : WRONG_USAGE;
  }
}

/** Escapes Commander's message, which quotes the command line. Its "Did you mean" hint keeps its own line. */
function printableError(message: string): string {
  const lines = message.trimEnd().split(/\n(?=\(Did you mean [^\n]*\)$)/);
  return lines.map((line) => `${printable(line)}\n`).join('');
}
