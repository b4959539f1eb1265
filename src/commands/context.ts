import { existsSync } from 'node:fs';
import { hostname, userInfo } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { sql } from 'kysely';
import { withoutKeys } from '../access/keys.ts';
import { ConfigError, readConfig, type Config, type DatabaseConfig } from '../config.ts';
import { type Database, type OpenDatabase, type Operator, NoDatabaseError } from '../database/database.ts';
import { configuredDatabase, openForCommands, openForServing } from '../database/open.ts';
import { logBytes, sqliteFiles } from '../database/sqlite/sqlite-files.ts';
import { isConnectionLost, isTimeout, reasonOf } from '../database/postgres/postgres-errors.ts';
import { hasTimelineChanged } from '../database/postgres/timeline.ts';
import {
  haveCreated,
  prepareSchema,
  readSchemaState,
  refuseOlder,
  type MigrateOptions,
  type SchemaState,
  type SchemaUse,
} from '../database/migrations/migrator.ts';
import { printable } from '../printable.ts';
import { announceInterrupted } from '../publishing/releases.ts';
import { ImportRefusedError } from '../publishing/problems.ts';
import type { Clock } from '../timestamp.ts';
import { migratingWithProgress } from './migrating.ts';
import { causeOf, describeFailure, reportRefusal } from './output/failure.ts';
import { processOutput, type Output } from './output/output.ts';
import { InterruptedError } from './output/progress.ts';
import { variablesOfProcess, type SettingOptions } from './output/settings-file.ts';

/** The dependencies of a command that works on the database. */
export interface CommandContext {
  readonly config: Config;
  /** Opened for writing, with its schema up to date. Closed when the command is done. */
  readonly database: OpenDatabase;
  readonly clock: Clock;
  readonly output: Output;
}

/** The configuration from this process's environment, to which `loadSettings` has added the settings file. */
export function configOfProcess(options: SettingOptions = {}): Config {
  return readConfig(...variablesOfProcess(options));
}

/**
 * Runs a command and sets this process's exit code: the return value of `work`, 0 if it returns nothing, or
 * `failureCode` if it throws (a signal's exit code if interrupted). An error prints one message to stderr, and with
 * `--json` also `{"error": {"message": …}}` to stdout; a refused import also its problems.
 */
export async function runCommand(
  isJson: boolean,
  work: (output: Output) => Promise<number | undefined>,
  failureCode = 1,
): Promise<void> {
  const output = processOutput(isJson);
  try {
    process.exitCode = (await work(output)) ?? 0;
  } catch (thrown) {
    const error = causeOf(thrown);
    process.exitCode = error instanceof InterruptedError ? error.exitCode : failureCode;
    if (error instanceof ImportRefusedError) {
      reportRefusal(output, error);
      return;
    }
    // Redact keys: an operator may have entered one in place of a name.
    const message = withoutKeys(describeFailure(error, databaseOfProcess()));
    const [first = '', ...others] = error instanceof ConfigError ? error.problems.map(withoutKeys) : [message];
    output.note([error instanceof InterruptedError ? first : `error: ${first}`, ...others]);
    if (isJson) output.result({ error: { message } }, '');
    if (error instanceof Error && ['debug', 'trace'].includes(process.env['PDS_LOG_LEVEL'] ?? '')) {
      const stack = error.stack?.replace(error.message, () => printable(error.message)) ?? '';
      output.note(withoutKeys(stack).split('\n'));
    }
  }
}

export interface DatabaseSettings {
  /** True if the command can create a missing database or fill an empty one. */
  readonly mayCreate?: boolean;
  /** True if it migrates an older SQLite database, after a backup. All other commands refuse an older schema. */
  readonly mayUpgrade?: boolean;
  /** False if the command prepares the schema itself. */
  readonly shouldPrepare?: boolean;
  /** True for a command that only reports: writes nothing. */
  readonly isDryRun?: boolean;
  /** True for the command that resolves the `HISTORY_WARNING`. */
  readonly recovers?: boolean;
}

export const HISTORY_WARNING =
  'The PostgreSQL server was promoted or restored after this database recorded its last timestamps, so changes that ' +
  'partners have seen may be lost. Run "pds recover", or the next sync of partners may miss reverted changes.';

/**
 * Runs a command on the database, and always closes it.
 *
 * @throws NoDatabaseError if there is no database and the command cannot create one; nothing was created.
 */
export async function withDatabase<T>(
  output: Output,
  work: (context: CommandContext) => Promise<T>,
  {
    mayCreate = false,
    mayUpgrade = false,
    shouldPrepare = true,
    isDryRun = false,
    recovers = false,
  }: DatabaseSettings = {},
): Promise<T> {
  const config = configOfProcess();
  const configured = configuredDatabase(config.database);
  const isMissing = configured.isMissing();
  if (!mayCreate && isMissing) throw new NoDatabaseError(`there is no database ${configured.shown} yet`);
  if (shouldPrepare && !mayUpgrade && !isMissing) await refuseOlderFiles(config.database);
  await using database = openForCommands(config.database, operatorOfProcess(config));
  await awaitPrimary(database, output);
  if (!mayCreate) {
    const state = await readSchemaState(database);
    if (state.isEmpty) throw new NoDatabaseError(`the database ${configured.shown} is empty`);
    refuseOlder(state);
  }
  const prepares = shouldPrepare && !isDryRun;
  const ran = prepares ? await prepareDatabase(database, config, output, mayUpgrade) : [];
  const isNew = haveCreated(ran);
  const cutOff = prepares ? await announceInterrupted(database) : null;
  if (cutOff !== null)
    output.note(`Completed the import published at ${cutOff}, which was interrupted after its commit.`);
  if (shouldPrepare && !recovers && (await hasTimelineChanged(database))) output.note(`warning: ${HISTORY_WARNING}`);
  const result = await work({ config, database, clock: Date.now, output });
  // Reported, since an empty database is often the wrong one.
  if (isNew) output.note(`Created ${shownDatabase(config.database)} (PDS_DATABASE_URL).`);
  return result;
}

/**
 * Refuses an older SQLite database with a log, as a killed service leaves it, without a change to its files: the last
 * connection that can write empties the log into them.
 */
async function refuseOlderFiles(config: DatabaseConfig): Promise<void> {
  if (config.engine === 'postgres') return;
  const { catalog, access } = sqliteFiles(config.path);
  // If the folder cannot be read, opening the database reports that.
  if (![catalog, access].some((file) => existsSync(`${file}-wal`) && logBytes(file) > 0)) return;
  await using database = openForServing(config);
  refuseOlder(await readSchemaState(database));
}

/** Returns the names of the migrations that ran. */
async function prepareDatabase(
  database: OpenDatabase,
  config: Config,
  output: Output,
  mayUpgrade: boolean,
): Promise<string[]> {
  if (!mayUpgrade) return prepareSchema(database, Date.now);
  const work = (options: MigrateOptions): Promise<string[]> => prepareSchema(database, Date.now, 'command', options);
  const { ran } = await migratingWithProgress(output, config.database, work);
  if (ran.length > 0 && !haveCreated(ran)) output.note(`Migrated the database (PDS_DATABASE_URL): ${ran.join(', ')}.`);
  return ran;
}

/**
 * The state of the database's schema; null if the database is missing. Creates nothing.
 *
 * @param waits gets the message that a primary is awaited; without it, none is awaited.
 * @throws SchemaVersionError if this version cannot use its schema.
 */
export async function findSchemaState(
  { database: settings }: Config,
  use: SchemaUse,
  waits?: Pick<Output, 'note'>,
): Promise<SchemaState | null> {
  // Opening it would create it.
  if (configuredDatabase(settings).isMissing()) return null;
  await using database = openForCommands(settings);
  if (waits !== undefined) await awaitPrimary(database, waits);
  return await readSchemaState(database, use);
}

/** A database in a message, without its password. */
export function shownDatabase(database: DatabaseConfig): string {
  return `the database ${configuredDatabase(database).shown}`;
}

function databaseOfProcess(): Config['database'] | null {
  try {
    return configOfProcess().database;
  } catch {
    return null;
  }
}

/** Names are cut at this length: the environment could make them any length. */
const MAX_NAME_LENGTH = 100;

/** The user running this process, according to the operating system. */
export function operatorOfProcess({ auditRetentionDays }: Config): Operator {
  const who = `${nameOfUser()}@${hostname()}`;
  // Only a hint: the user can set this environment variable to any name.
  const sudoUser = process.env['SUDO_USER'];
  return { name: sudoUser === undefined ? who : `${who} (sudo by ${asWord(sudoUser)})`, auditRetentionDays };
}

function nameOfUser(): string {
  try {
    return asWord(userInfo().username);
  } catch {
    // A container can run as a UID without a name.
    return `uid ${process.getuid?.() ?? 'unknown'}`;
  }
}

/** Replaces whitespace and control characters, so that a name stays within its line and column. */
function asWord(name: string): string {
  return name.replace(/[\p{C}\p{Z}]+/gu, '_').slice(0, MAX_NAME_LENGTH);
}

/** A cluster replaces a host that is lost in 24 s. */
const MAX_WAIT_MS = 60_000;
const RETRY_MS = 500;

/**
 * Connects a command to PostgreSQL. If there is no primary at the moment, waits for one, and reports that.
 *
 * @throws the last error after `maxWaitMs`, and at once any error that another primary would not resolve.
 */
export async function awaitPrimary(
  { engine, kysely }: Database,
  output: Pick<Output, 'note'>,
  maxWaitMs = MAX_WAIT_MS,
): Promise<void> {
  if (engine === 'sqlite') return;
  const startedAtMs = performance.now();
  for (let isNoted = false; ; isNoted = true) {
    try {
      await sql`select 1`.execute(kysely);
      return;
    } catch (error) {
      if (!mayPass(error) || performance.now() - startedAtMs > maxWaitMs) throw error;
      if (!isNoted) output.note(`Waiting up to a minute for a primary of PostgreSQL: ${reasonOf(error)}.`);
      await delay(RETRY_MS);
    }
  }
}

/**
 * Whether a proxy in front of PostgreSQL has no primary, or the server is starting, stopping or silent. A refused
 * connection or an unknown host is more likely a wrong URL.
 */
function mayPass(error: unknown): boolean {
  const { syscall = 'read' } = error as { syscall?: string };
  const isRefused = error instanceof AggregateError || !['read', 'write'].includes(syscall);
  return isTimeout(error) || (isConnectionLost(error) && !isRefused);
}
