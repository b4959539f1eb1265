import { Argument, type Command } from 'commander';
import { OWNERS } from '../access/visibility/rules.ts';
import type { GrantOptions, SetOptions } from './actions/partner.ts';
import {
  addCommand,
  NO_RESULT,
  collect,
  onDatabase,
  parseDurationMs,
  parseKinds,
  parseLifetimeMs,
  parsePerMinute,
  requireAnswer,
  run,
} from './command-line.ts';

const partnerActions = () => import('./actions/partner.ts');
const keyActions = () => import('./actions/key.ts');

export function addPartnerCommands(program: Command): void {
  const partner = program.command('partner').description('manage partners and their access');

  addCommand(partner, 'create', 'create a partner')
    .argument('<name>', '1 to 64 letters, digits, ".", "_" and "-"')
    .option('--everything', 'grant access to all records')
    .action(run(async () => (await partnerActions()).create));

  addCommand(partner, 'list', 'list all partners').action(onDatabase(async () => (await partnerActions()).list));

  addCommand(partner, 'show', 'show a partner with its grants and keys')
    .argument('<name>')
    .action(onDatabase(async () => (await partnerActions()).show));

  addCommand(partner, 'suspend', 'reject all requests of a partner with 403 until it is resumed')
    .argument('<name>')
    .action(onDatabase(async () => (await partnerActions()).suspend));

  addCommand(partner, 'resume', 'lift a suspension')
    .argument('[name]')
    .option('--all', 'resume every suspended partner, for example after a restore')
    .hook('preAction', (command) => {
      const { all = false } = command.opts<{ all?: boolean }>();
      if (all === command.args.length > 0) command.error('error: give the name of a partner, or --all');
    })
    .action(onDatabase(async () => (await partnerActions()).resume));

  addCommand(partner, 'rename', 'rename a partner; its keys keep working')
    .argument('<old>')
    .argument('<new>', '1 to 64 letters, digits, ".", "_" and "-"')
    .action(onDatabase(async () => (await partnerActions()).rename));

  addCommand(partner, 'delete', 'delete a partner, and revoke its keys')
    .argument('<name>')
    .option('--yes', 'do not ask for confirmation')
    .hook('preAction', (command) => {
      const [name = ''] = command.args;
      requireAnswer(
        command,
        `"pds partner delete ${name}" cannot be undone`,
        `See what it has with "pds partner show ${name}", then run "pds partner delete ${name} --yes"`,
      );
    })
    .action(onDatabase(async () => (await partnerActions()).remove));

  addGrantCommand(
    partner,
    'grant',
    'grant access to everything, or to the records of lead entities and cooperatives',
  ).action(onDatabase(async () => (await partnerActions()).grantTo));

  addGrantCommand(partner, 'revoke', 'revoke grants').action(
    onDatabase(async () => (await partnerActions()).revokeFrom),
  );

  addCommand(partner, 'set', "change a partner's rate limit, or the kinds of resource that it can request")
    .argument('<name>')
    .option('--per-minute <n>', 'requests per minute for all its keys together, or "default"', parsePerMinute)
    .option('--kinds <kinds>', 'comma-separated kinds of resource, or "all"', parseKinds)
    .hook('preAction', (command) => {
      const { perMinute, kinds } = command.opts<SetOptions>();
      if (perMinute === undefined && kinds === undefined) command.error('error: give --per-minute, --kinds or both');
    })
    .action(onDatabase(async () => (await partnerActions()).set));
}

export function addFindCommand(program: Command): void {
  addCommand(program, 'find', 'find the ids of lead entities or cooperatives by name; exits 1 if none matches')
    .addArgument(new Argument('<kind>', 'what to find').choices(Object.values(OWNERS).map(({ word }) => word)))
    .argument('<text...>', 'words that begin words of the name, or the beginning of the id')
    .action(onDatabase(async () => (await import('./actions/reports.ts')).find));
}

export function addKeyCommands(program: Command): void {
  const key = program.command('key').description('manage API keys');

  addCommand(key, 'issue', 'issue an API key to a partner; it is printed once, alone on stdout')
    .argument('<name>', 'the partner')
    .option('--expires-in <span>', 'lifetime, such as 365d, 12h or 30m (default: never expires)', parseLifetimeMs)
    .option('--label <text>', 'what the key is for, 1 to 64 characters')
    .action(onDatabase(async () => (await keyActions()).issue));

  addCommand(key, 'list', 'list keys by their public IDs')
    .argument('[name]', 'only those of this partner')
    .option('--expiring <span>', 'only active keys that end within it; exits 1 if there are any', parseDurationMs)
    .action(onDatabase(async () => (await keyActions()).list));

  addCommand(key, 'rotate', 'issue a new key to replace another, which keeps working for a while')
    .argument('<key-id>', 'the 8 characters after pds_live_ or pds_test_')
    .option('--overlap <span>', 'how long the old key keeps working (default: 24h)', parseDurationMs)
    .action(onDatabase(async () => (await keyActions()).rotate));

  addCommand(key, 'find', 'find API keys in text on stdin, and show whose they are; exits 1 if one is active')
    .addHelpText(
      'after',
      '\nExit code: 0 if none is active or the text has none, 1 if one is active, 2 if that is unknown.',
    )
    .action(onDatabase(async () => (await keyActions()).find, {}, NO_RESULT));

  addCommand(key, 'revoke', 'revoke a key immediately')
    .argument('<key-id>', 'the 8 characters after pds_live_ or pds_test_')
    .action(onDatabase(async () => (await keyActions()).revoke));
}

function addGrantCommand(partner: Command, name: string, description: string): Command {
  return addCommand(partner, name, description)
    .argument('<name>', 'the partner')
    .option('--everything', 'all records')
    .option('--lead-entity <id>', 'a lead entity; repeatable', collect)
    .option('--coop <id>', 'a cooperative; repeatable', collect)
    .hook('preAction', (command) => {
      const { everything = false, leadEntity = [], coop = [] } = command.opts<GrantOptions>();
      if (!everything && leadEntity.length + coop.length === 0)
        command.error('error: give --everything, --lead-entity or --coop');
    });
}
