import { InvalidArgumentError, type Command } from 'commander';
import { integer } from '../settings.ts';
import { KINDS_AS_LISTED, type Kind } from '../kinds.ts';
import { formatTimestamp, parseTimestamp } from '../timestamp.ts';
import type { CommandContext, DatabaseSettings } from './context.ts';
import type { Output } from './output/output.ts';
import { loadSettings } from './output/settings-file.ts';

// Helpers of the command definitions. Nothing here loads a database driver before a command runs. The parsers throw
// InvalidArgumentError, which Commander reports as a usage error.

/** Adds a command with the options common to all. */
export function addCommand(parent: Command, name: string, description: string): Command {
  return addCommonOptions(parent.command(name).description(description));
}

/** Adds the options that can be before a command and after it. */
export function addCommonOptions(command: Command): Command {
  return command
    .option('--json', 'print the result as JSON on stdout')
    .option('--config <file>', 'read settings from this file too; the environment overrides it');
}

/** The last `--config` on the command line. */
function configFileOf(command: Command | null): string | undefined {
  return command === null ? undefined : (command.opts<{ config?: string }>().config ?? configFileOf(command.parent));
}

/**
 * An action for Commander: calls the function that `load` imports with the command's output, arguments and options, and
 * sets this process's exit code: `failureCode` if it throws.
 */
export function run<Args extends unknown[]>(
  load: () => Promise<(output: Output, ...args: Args) => Promise<number | undefined>>,
  failureCode = 1,
) {
  return async function (this: Command, ...args: Args): Promise<void> {
    const isJson = this.optsWithGlobals<{ json?: true }>().json === true;
    const { runCommand } = await import('./run-command.ts');
    await runCommand(isJson, failureCode, async (output) => {
      loadSettings(configFileOf(this));
      const action = await load();
      return action(output, ...args);
    });
  };
}

/** The exit code of a failure, as of diff(1) and grep(1), for a command whose result can be 0 or 1. */
export const NO_RESULT = 2;

/** The same, for a command that works on the database. */
export function onDatabase<Args extends unknown[]>(
  load: () => Promise<(context: CommandContext, ...args: Args) => Promise<number | undefined>>,
  settings: DatabaseSettings = {},
  failureCode?: number,
) {
  return run(async () => {
    const [action, { withDatabase }] = [await load(), await import('./context.ts')];
    return (output, ...args: Args) => withDatabase(output, (context) => action(context, ...args), settings);
  }, failureCode);
}

const UNIT_MS = { d: 86_400_000, h: 3_600_000, m: 60_000 };

// A century: longer than any key's lifetime, and far from the end of the calendar.
const MAX_DURATION_MS = 36_500 * UNIT_MS.d;

/** Parses a duration such as `365d`, `12h` or `30m` into milliseconds. */
export function parseDurationMs(text: string): number {
  const match = /^(\d{1,8})([dhm])$/.exec(text);
  const durationMs = Number(match?.[1]) * UNIT_MS[(match?.[2] ?? 'd') as keyof typeof UNIT_MS];
  if (match === null || durationMs > MAX_DURATION_MS) {
    throw new InvalidArgumentError('Accepted: days, hours or minutes, such as 365d, 12h or 30m, up to 36500d.');
  }
  return durationMs;
}

/** The same as `parseDurationMs`, but refuses zero. */
export function parseLifetimeMs(text: string): number {
  const lifetimeMs = parseDurationMs(text);
  if (lifetimeMs === 0) throw new InvalidArgumentError('The lifetime must be longer than zero.');
  return lifetimeMs;
}

// Commander treats a parsed null as an option without a value, so the words for "no own setting" stay words.

/** Requests per minute, or `default`. */
export function parsePerMinute(text: string): number | 'default' {
  return text === 'default' ? text : wholeNumber(1, 1_000_000, ', or "default"')(text);
}

/** Comma-separated kinds of resource, or `all`. */
export function parseKinds(text: string): Kind[] | 'all' {
  if (text === 'all') return text;
  const names = text.split(',').map((name) => name.trim());
  if (!names.every((name) => (KINDS_AS_LISTED as readonly string[]).includes(name))) {
    throw new InvalidArgumentError(`Accepted: "all", or a comma-separated list of ${KINDS_AS_LISTED.join(', ')}.`);
  }
  return KINDS_AS_LISTED.filter((kind) => names.includes(kind));
}

/** An IANA time zone. */
export function parseZone(text: string): string {
  if (!Intl.supportedValuesOf('timeZone').includes(text) && text !== 'UTC') {
    throw new InvalidArgumentError('Accepted: a time zone such as America/Chicago, or UTC.');
  }
  return text;
}

export function wholeNumber(min: number, max: number, orElse = ''): (text: string) => number {
  return (text) => {
    const number = integer(text, min, max);
    if (number === undefined) {
      throw new InvalidArgumentError(`Accepted: a whole number from ${min} to ${max}${orElse}.`);
    }
    return number;
  };
}

/**
 * A timestamp that the next one must exceed. At most a day in the future: until then, releases and grants would be
 * dated later than the clock.
 */
export function parseAfter(text: string): string {
  const timestamp = parseTime(text);
  if (timestamp > formatTimestamp(Date.now() + UNIT_MS.d)) {
    throw new InvalidArgumentError('The timestamp must not be more than a day in the future.');
  }
  return timestamp;
}

/** A timestamp, past or future. */
export function parseTime(text: string): string {
  const timestamp = parseTimestamp(text);
  if (timestamp === null) throw new InvalidArgumentError('Accepted: a timestamp such as 2026-04-15T09:00:00Z.');
  return timestamp;
}

/** A number of records, or `all`. */
export function parseLimit(text: string): number {
  return text === 'all' ? Infinity : wholeNumber(0, 1_000_000_000, ', or "all"')(text);
}

/** Collects the values of a repeatable option. */
export function collect(value: string, previous: readonly string[] = []): string[] {
  return [...previous, value];
}

// A command that cannot be undone asks on a terminal, and requires `--yes` anywhere else.

/** Whether there is somebody to ask: the question goes to stderr, and the answer comes from stdin. */
export function canAsk(): boolean {
  return process.stdin.isTTY && process.stderr.isTTY;
}

/**
 * Reports wrong usage if a command that asks for confirmation has neither `--yes` nor a terminal.
 *
 * @param consequence what the command does, as a clause: `every partner reads all records again`.
 * @param advice what to type instead, as a sentence without its period.
 */
export function requireAnswer(command: Command, consequence: string, advice: string): void {
  if (command.opts<{ yes?: boolean }>().yes === true || canAsk()) return;
  command.error(`error: ${consequence}, and there is no terminal to confirm it on. ${advice}`);
}
