/** Commands and options that version 2.0 no longer has, each with what replaces it. */
const REMOVED: Readonly<Record<string, string>> = {
  'check --patroni': 'use "patronictl list"; the alerts in ops/alerts.yml watch the cluster',
};

/**
 * Commander's message, or what replaces the command or option that it does not know.
 *
 * @param words the command line without the options of all commands.
 */
export function explainRemoved(message: string, words: readonly string[]): string {
  const unknown = /unknown (?:command|option) '([^'=]+)/.exec(message)?.[1];
  for (const count of [0, 1, 2]) {
    const name = [...words.slice(0, count), unknown].join(' ');
    const replacement = Object.hasOwn(REMOVED, name) ? REMOVED[name] : undefined;
    if (replacement !== undefined) return `error: "pds ${name}" was removed in version 2.0: ${replacement}`;
  }
  return message;
}
