/** Commands, options and arguments that version 2.0 no longer has, each with what replaces it. */
const REMOVED: Readonly<Record<string, string>> = {
  'import --dry-run': 'use "pds diff"',
  'import --show': 'use "pds diff", which has it',
  'import --allow-removals': 'use --yes, which also allows what takes access from partners',
  'convert ocds --call-offs': 'contracts under a framework agreement are left out',
  'convert ocds --contact-points': 'add "email" to the lines of suppliers.ndjson',
  'convert ocds --coop': 'add "coop_id" to the lines of contracts.ndjson, and a coops.ndjson',
  'key label': 'set a label with "pds key issue --label"; a rotated key has that of the former one',
  'completion powershell': 'completion is for bash, zsh and fish',
  'serve --workers':
    'start several services on one port with --reuse-port, each with its own --admin-port ' +
    '(docs/operators/several-processes.md)',
  'check --patroni': 'use "patronictl list"; the alerts in ops/alerts.yml watch the cluster',
};

/**
 * Commander's message, or what replaces the command, option or argument that it does not know.
 *
 * @param words the command line without the options of all commands.
 */
export function explainRemoved(message: string, words: readonly string[]): string {
  const unknown = /(?:unknown (?:command|option)|argument value) '([^'=]+)/.exec(message)?.[1];
  for (const count of [0, 1, 2]) {
    const name = [...words.slice(0, count), unknown].join(' ');
    const replacement = Object.hasOwn(REMOVED, name) ? REMOVED[name] : undefined;
    if (replacement !== undefined) return `error: "pds ${name}" was removed in version 2.0: ${replacement}`;
  }
  return message;
}
