import type { Command } from 'commander';
import type { CommandContext, DatabaseSettings } from './context.ts';

// Shared by the command definitions. Nothing here loads a database driver before a command runs.

export interface JsonOption {
  json?: true;
}

/** Adds a command with the option common to all. */
export function addCommand(parent: Command, name: string): Command {
  return parent.command(name).option('--json', 'print the result as JSON on stdout');
}

/** Runs a command and sets this process's exit code. */
export async function run(
  options: JsonOption,
  work: (context: typeof import('./context.ts')) => Promise<number | undefined>,
): Promise<void> {
  const context = await import('./context.ts');
  await context.runCommand(options.json === true, () => work(context));
}

/** The same, for a command that works on the database. */
export function onDatabase(
  options: JsonOption,
  work: (context: CommandContext) => Promise<number | undefined>,
  settings?: DatabaseSettings,
): Promise<void> {
  return run(options, ({ withDatabase }) => withDatabase(options.json === true, work, settings));
}
