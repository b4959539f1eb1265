import { Command, CommanderError } from 'commander';
import manifest from '../../package.json' with { type: 'json' };
import { withoutKeys } from '../access/keys.ts';
import type { Kind } from '../access/scope.ts';
import { printable } from '../printable.ts';
import type { CommandContext } from './context.ts';
import { addCommand, onDatabase, run, type JsonOption } from './command-line.ts';
import {
  collect,
  parseDurationMs,
  parseKinds,
  parseLifetimeMs,
  parsePerMinute,
  parsePort,
  parseWorkers,
} from './option-values.ts';
import { addOperationsCommands } from './operations-commands.ts';
import { addRecoveryCommands } from './recovery-commands.ts';

// The commands of `pds`. Their implementations in `commands/` are loaded on use: help and usage errors need no database
// driver.

const WRONG_USAGE = 2;

interface GrantOptions extends JsonOption {
  everything?: true;
  leadEntity?: string[];
  coop?: string[];
}

interface SetOptions extends JsonOption {
  perMinute?: number | 'default';
  kinds?: Kind[] | 'all';
}

/** The command line. */
export const program = new Command('pds')
  .description('Partner data service: read-only JSON over HTTP for the partners of a purchasing marketplace.')
  .version(manifest.version)
  .helpCommand(true)
  .configureOutput({ outputError: (message, write) => write(printableError(withoutKeys(message))) })
  .exitOverride();

addCommand(program, 'serve')
  .description('answer requests until it is told to stop')
  .option('--host <host>', 'address to listen on, in place of PDS_HOST')
  .option('--port <port>', 'port to listen on, in place of PDS_PORT', parsePort)
  .option('--workers <n>', 'processes that answer requests, 1 to 64', parseWorkers, 1)
  .option('--demo', 'fill an empty database with sample data and a published key (only in dev)')
  .action((options: JsonOption & { host?: string; port?: number; workers: number; demo?: true }) =>
    run(options, async ({ configOfProcess }) => {
      const { serve } = await import('./serve.ts');
      const config = configOfProcess();
      const listenOn = { host: options.host ?? config.host, port: options.port ?? config.port };
      await serve({ ...config, ...listenOn }, { demo: options.demo === true, workers: options.workers });
      return undefined;
    }),
  );

addCommand(program, 'migrate')
  .description('bring the schema of the database up to this version')
  .option('--finish', 'also remove what only servers of the version before need: when none is left')
  .action((options: JsonOption & { finish?: true }) =>
    onDatabase(
      options,
      async (context) => (await import('./migrate.ts')).migrateDatabase(context, { finish: options.finish === true }),
      // Otherwise an older PostgreSQL schema would be refused before the migration.
      { mayCreate: true, shouldPrepare: false },
    ),
  );

addCommand(program, 'import')
  .description('publish the records of a directory of NDJSON files, all of them or none')
  .argument('<dir>', 'directory with contracts.ndjson, suppliers.ndjson, … (or .ndjson.gz)')
  .option('--replace', 'also remove what the files of the kinds present no longer hold')
  .option('--allow-removals', 'with --replace: remove more than a fifth of a kind, too')
  .option('--dry-run', 'only report what would change')
  .action(
    (
      directory: string,
      options: JsonOption & { replace?: true; allowRemovals?: true; dryRun?: true },
      command: Command,
    ) => {
      if (options.allowRemovals && !options.replace) refuse(command, '--allow-removals goes with --replace only');
      return run(options, async () =>
        (await import('./import.ts')).importDirectory(options.json === true, directory, {
          replace: options.replace === true,
          allowRemovals: options.allowRemovals === true,
          dryRun: options.dryRun === true,
        }),
      );
    },
  );

const partner = program.command('partner').description('who may ask, and for what');

addCommand(partner, 'create')
  .description('make a partner')
  .argument('<name>', '1 to 64 letters, digits, ".", "_" and "-"')
  .option('--everything', 'grant it everything at once')
  .action((name: string, options: JsonOption & { everything?: true }) =>
    run(options, async ({ withDatabase }) => {
      const { checkName, create } = await partnerCommands();
      checkName(name);
      const work = (context: CommandContext) => create(context, name, options.everything === true);
      return withDatabase(options.json === true, work, { mayCreate: true });
    }),
  );

addCommand(partner, 'list')
  .description('list all partners')
  .action((options: JsonOption) => onDatabase(options, async (context) => (await partnerCommands()).list(context)));

addCommand(partner, 'show')
  .description('show a partner with its grants and keys')
  .argument('<name>')
  .action((name: string, options: JsonOption) =>
    onDatabase(options, async (context) => (await partnerCommands()).show(context, name)),
  );

addCommand(partner, 'suspend')
  .description('answer all its requests with 403 until it is resumed')
  .argument('<name>')
  .action((name: string, options: JsonOption) =>
    onDatabase(options, async (context) => (await partnerCommands()).suspend(context, name)),
  );

addCommand(partner, 'resume')
  .description('end a suspension')
  .argument('<name>')
  .action((name: string, options: JsonOption) =>
    onDatabase(options, async (context) => (await partnerCommands()).resume(context, name)),
  );

addGrantCommand('grant')
  .description('let a partner see more: everything, or the records of lead entities and coops')
  .action((name: string, options: GrantOptions, command: Command) => {
    const asked = grantsOf(options, command);
    return onDatabase(options, async (context) => (await partnerCommands()).grantTo(context, name, asked));
  });

addGrantCommand('revoke')
  .description('take back what was granted')
  .action((name: string, options: GrantOptions, command: Command) => {
    const asked = grantsOf(options, command);
    return onDatabase(options, async (context) => (await partnerCommands()).revokeFrom(context, name, asked));
  });

addCommand(partner, 'set')
  .description("change a partner's limits")
  .argument('<name>')
  .option('--per-minute <n>', 'requests a minute over all its keys, or "default"', parsePerMinute)
  .option('--kinds <kinds>', 'kinds of resource that it may ask for, comma-separated, or "all"', parseKinds)
  .action((name: string, options: SetOptions, command: Command) => {
    const { perMinute, kinds } = options;
    if (perMinute === undefined && kinds === undefined) refuse(command, 'give --per-minute, --kinds or both');
    const settings = {
      ...(perMinute !== undefined && { requestsPerMinute: perMinute === 'default' ? null : perMinute }),
      ...(kinds !== undefined && { kinds: kinds === 'all' ? null : kinds }),
    };
    return onDatabase(options, async (context) => (await partnerCommands()).set(context, name, settings));
  });

const key = program.command('key').description('the keys that partners ask with');

addCommand(key, 'issue')
  .description('issue a key to a partner; it is printed this once, alone on stdout')
  .argument('<name>', 'the partner')
  .option('--expires-in <span>', 'such as 365d, 12h or 30m (default: never)', parseLifetimeMs)
  .action((name: string, options: JsonOption & { expiresIn?: number }) =>
    onDatabase(options, async (context) => (await keyCommands()).issue(context, name, options.expiresIn ?? null)),
  );

addCommand(key, 'list')
  .description('list keys by their public ids')
  .argument('[name]', 'only those of this partner')
  .action((name: string | undefined, options: JsonOption) =>
    onDatabase(options, async (context) => (await keyCommands()).list(context, name ?? null)),
  );

addCommand(key, 'rotate')
  .description('issue a key in place of another, which stays good for a while; printed like "key issue"')
  .argument('<key-id>', 'the 8 characters after pds_live_ or pds_test_')
  .option('--overlap <span>', 'how long the old key stays good (default: 24h)', parseDurationMs)
  .action((keyId: string, options: JsonOption & { overlap?: number }) =>
    onDatabase(options, async (context) =>
      (await keyCommands()).rotate(context, keyId, options.overlap ?? parseDurationMs('24h')),
    ),
  );

addCommand(key, 'find')
  .description('find whole keys in a text on standard input, and say whose they are')
  .action((options: JsonOption) =>
    onDatabase(options, async (context) => (await import('./key-find.ts')).find(context, process.stdin)),
  );

addCommand(key, 'revoke')
  .description('end a key at once')
  .argument('<key-id>', 'the 8 characters after pds_live_ or pds_test_')
  .action((keyId: string, options: JsonOption) =>
    onDatabase(options, async (context) => (await keyCommands()).revoke(context, keyId)),
  );

addRecoveryCommands(program);
addOperationsCommands(program);

/** Runs this process's command line and sets its exit code. */
export async function runProgram(): Promise<void> {
  // A reader that closes the pipe, such as `head`, is not a failure.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(0);
    process.stderr.write(
      `error: the output could not be written (${error.message}). What the command did stays done: ` +
        'a key that was not seen is to be revoked and issued again\n',
    );
    process.exit(1);
  });
  // A broken stderr does not fail the command.
  process.stderr.on('error', () => undefined);

  try {
    await program.parseAsync();
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    process.exitCode = error.exitCode === 0 ? 0 : WRONG_USAGE;
  }
}

function addGrantCommand(name: string): Command {
  return addCommand(partner, name)
    .argument('<name>', 'the partner')
    .option('--everything', 'all records')
    .option('--lead-entity <id>', 'a lead entity; may be repeated', collect)
    .option('--coop <id>', 'a cooperative; may be repeated', collect);
}

function grantsOf(
  { everything = false, leadEntity = [], coop = [] }: { everything?: boolean; leadEntity?: string[]; coop?: string[] },
  command: Command,
): { everything: boolean; leadEntities: string[]; coops: string[] } {
  if (!everything && leadEntity.length + coop.length === 0)
    refuse(command, 'give --everything, --lead-entity or --coop');
  return { everything, leadEntities: leadEntity, coops: coop };
}

function partnerCommands(): Promise<typeof import('./partner.ts')> {
  return import('./partner.ts');
}

function keyCommands(): Promise<typeof import('./key.ts')> {
  return import('./key.ts');
}

/**
 * Escapes Commander's error message, which quotes the command line, but keeps its "Did you mean" hint on its own line.
 */
function printableError(message: string): string {
  const lines = message.trimEnd().split(/\n(?=\(Did you mean [^\n]*\)$)/);
  return lines.map((line) => `${printable(line)}\n`).join('');
}

function refuse(command: Command, message: string): never {
  command.error(`error: ${message}`);
}
