import { Argument, type Command } from 'commander';
import type { FoundKind } from './actions/find.ts';
import type { IssueOptions } from './actions/key.ts';
import type { GrantOptions, SetOptions } from './actions/partner.ts';
import {
  addCommand,
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

/** Adds `pds partner`. */
export function addPartnerCommands(program: Command): void {
  const partner = program.command('partner').description('manage partners and their access');

  addCommand(partner, 'create', 'create a partner')
    .argument('<name>', '1 to 64 letters, digits, ".", "_" and "-"')
    .option('--everything', 'grant access to all records')
    .action(
      run(async (isJson, name: string, { everything = false }: { everything?: boolean }) =>
        (await partnerActions()).create(isJson, name, everything),
      ),
    );

  addCommand(partner, 'list', 'list all partners').action(
    onDatabase(async (context) => (await partnerActions()).list(context)),
  );

  addCommand(partner, 'show', 'show a partner with its grants and keys')
    .argument('<name>')
    .action(onDatabase(async (context, name: string) => (await partnerActions()).show(context, name)));

  addCommand(partner, 'suspend', 'reject all requests of a partner with 403 until it is resumed')
    .argument('<name>')
    .action(onDatabase(async (context, name: string) => (await partnerActions()).suspend(context, name)));

  addCommand(partner, 'resume', 'lift a suspension')
    .argument('<name>')
    .action(onDatabase(async (context, name: string) => (await partnerActions()).resume(context, name)));

  addCommand(partner, 'rename', 'rename a partner; its keys go on working')
    .argument('<old>')
    .argument('<new>', '1 to 64 letters, digits, ".", "_" and "-"')
    .action(
      onDatabase(async (context, name: string, newName: string) =>
        (await partnerActions()).rename(context, name, newName),
      ),
    );

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
    .action(
      onDatabase(async (context, name: string, { yes = false }: { yes?: boolean }) =>
        (await partnerActions()).remove(context, name, yes),
      ),
    );

  addGrantCommand(
    partner,
    'grant',
    'grant access to everything, or to the records of lead entities and cooperatives',
  ).action(
    onDatabase(async (context, name: string, options: GrantOptions) =>
      (await partnerActions()).grantTo(context, name, options),
    ),
  );

  addGrantCommand(partner, 'revoke', 'revoke grants').action(
    onDatabase(async (context, name: string, options: GrantOptions) =>
      (await partnerActions()).revokeFrom(context, name, options),
    ),
  );

  addCommand(partner, 'set', "change a partner's rate limit, or the kinds of resource that it can request")
    .argument('<name>')
    .option('--per-minute <n>', 'requests per minute for all its keys together, or "default"', parsePerMinute)
    .option('--kinds <kinds>', 'comma-separated kinds of resource, or "all"', parseKinds)
    .hook('preAction', (command) => {
      const { perMinute, kinds } = command.opts<SetOptions>();
      if (perMinute === undefined && kinds === undefined) command.error('error: give --per-minute, --kinds or both');
    })
    .action(
      onDatabase(async (context, name: string, options: SetOptions) =>
        (await partnerActions()).set(context, name, options),
      ),
    );
}

/** Adds `pds find`. */
export function addFindCommand(program: Command): void {
  addCommand(program, 'find', 'find the ids of lead entities or cooperatives by name; exits 1 if none matches')
    .addArgument(new Argument('<kind>', 'what to find').choices(['lead-entity', 'coop']))
    .argument('<text...>', 'words that begin words of the name, or the beginning of the id')
    .action(
      onDatabase(async (context, kind: FoundKind, words: string[]) =>
        (await import('./actions/find.ts')).find(context, kind, words.join(' ')),
      ),
    );
}

/** Adds `pds key`. */
export function addKeyCommands(program: Command): void {
  const key = program.command('key').description('manage API keys');

  addCommand(key, 'issue', 'issue an API key to a partner; it is printed once, alone on stdout')
    .argument('<name>', 'the partner')
    .option('--expires-in <span>', 'lifetime, such as 365d, 12h or 30m (default: never expires)', parseLifetimeMs)
    .option('--label <text>', 'what the key is for, 1 to 64 characters')
    .action(
      onDatabase(async (context, name: string, options: IssueOptions) =>
        (await keyActions()).issue(context, name, options),
      ),
    );

  addCommand(key, 'list', 'list keys by their public IDs')
    .argument('[name]', 'only those of this partner')
    .option('--expiring <span>', 'only active keys that end within it; exits 1 if there are any', parseDurationMs)
    .action(
      onDatabase(async (context, name: string | undefined, { expiring }: { expiring?: number }) =>
        (await keyActions()).list(context, name ?? null, expiring ?? null),
      ),
    );

  addCommand(key, 'label', "change a key's label")
    .argument('<key-id>', 'the 8 characters after pds_live_ or pds_test_')
    .argument('<text>', 'what the key is for, 1 to 64 characters')
    .action(
      onDatabase(async (context, keyId: string, text: string) => (await keyActions()).label(context, keyId, text)),
    );

  addCommand(key, 'rotate', 'issue a new key to replace another, which keeps working for a while')
    .argument('<key-id>', 'the 8 characters after pds_live_ or pds_test_')
    .option('--overlap <span>', 'how long the old key keeps working (default: 24h)', parseDurationMs)
    .action(
      onDatabase(async (context, keyId: string, { overlap = parseDurationMs('24h') }: { overlap?: number }) =>
        (await keyActions()).rotate(context, keyId, overlap),
      ),
    );

  addCommand(key, 'find', 'find API keys in text on stdin, and show whose they are').action(
    onDatabase(async (context) => (await keyActions()).find(context, process.stdin)),
  );

  addCommand(key, 'revoke', 'revoke a key immediately')
    .argument('<key-id>', 'the 8 characters after pds_live_ or pds_test_')
    .action(onDatabase(async (context, keyId: string) => (await keyActions()).revoke(context, keyId)));
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
