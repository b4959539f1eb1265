import { withoutKeys } from '../access/keys.ts';
import { ConfigError, readConfig, type Config, type DatabaseConfig } from '../config.ts';
import { openForCommands, type OpenDatabase } from '../database/database.ts';
import { NoDatabaseError, SchemaVersionError } from '../database/errors.ts';
import { isHistoryOther } from '../database/history.ts';
import { prepareSchema, readSchemaState, type SchemaUse } from '../database/migrator.ts';
import { shownPostgresUrl } from '../database/postgres-url.ts';
import { hasSqliteFiles, sqliteFiles } from '../database/sqlite-files.ts';
import type { Clock } from '../timestamp.ts';
import { printable } from '../printable.ts';
import { announceCutOff } from '../publishing/announce.ts';
import { describeFailure } from './failure.ts';
import { InterruptedError } from './interruption.ts';
import { migratingWithProgress } from './migrating.ts';
import { operatorOfProcess } from './operator.ts';
import { processOutput, type Output } from './output.ts';

/** The dependencies of a command that works on the database. */
export interface CommandContext {
  readonly config: Config;
  /** Opened for writing, with its schema up to date. Closed when the command is done. */
  readonly database: OpenDatabase;
  readonly clock: Clock;
  readonly output: Output;
}

/** The configuration from this process's environment variables. */
export function configOfProcess(): Config {
  return readConfig(process.env);
}

/**
 * Runs a command and sets this process's exit code: the return value of `work`, 0 if it returns nothing, or 1 if it
 * throws (a signal's exit code if interrupted). An error prints one message to stderr, and with `--json` also
 * `{"error": {"message": …}}` to stdout.
 */
export async function runCommand(isJson: boolean, work: () => Promise<number | undefined>): Promise<void> {
  try {
    process.exitCode = (await work()) ?? 0;
  } catch (error) {
    process.exitCode = error instanceof InterruptedError ? error.exitCode : 1;
    // Redact keys: an operator may have entered one in place of a name.
    const message = withoutKeys(describeFailure(error, databaseOfProcess()));
    const output = processOutput(isJson);
    const problems = error instanceof ConfigError ? error.problems.map(withoutKeys) : [message];
    const begin = error instanceof InterruptedError ? '' : 'error: ';
    output.note(problems.map((problem, index) => (index === 0 ? begin + problem : problem)));
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
  /** False leaves the schema as it is; otherwise an older SQLite file is migrated. */
  readonly shouldPrepare?: boolean;
  /** True for a command that only reports: refuses an older schema and writes nothing. */
  readonly isDryRun?: boolean;
  /** True for the command that resolves the `HISTORY_WARNING`. */
  readonly recovers?: boolean;
}

export const HISTORY_WARNING =
  'The PostgreSQL server has been promoted or restored since the instants in it were recorded: what partners have ' +
  'seen since may be lost. Run "pds recover", or their next sync may miss what changed back.';

/**
 * Runs a command on the database, and always closes it.
 *
 * @returns the return value of `work`: the exit code, or nothing for 0.
 * @throws NoDatabaseError if there is no database and the command cannot create one; nothing was created.
 */
export async function withDatabase(
  isJson: boolean,
  work: (context: CommandContext) => Promise<number | undefined>,
  { mayCreate = false, shouldPrepare = true, isDryRun = false, recovers = false }: DatabaseSettings = {},
): Promise<number | undefined> {
  const config = configOfProcess();
  const output = processOutput(isJson);
  if (!mayCreate) refuseMissingFiles(config.database);
  const database = openForCommands(config.database, operatorOfProcess(config));
  try {
    if (!mayCreate) {
      const { isEmpty, pending } = await readSchemaState(database);
      if (isEmpty) throw noDatabase(config.database);
      if (isDryRun && pending.length > 0) throw olderSchema(pending);
    }
    const prepares = shouldPrepare && !isDryRun;
    const ran = prepares
      ? await migratingWithProgress(output, (options) => prepareSchema(database, Date.now, 'command', options))
      : [];
    // Reported, since an empty database is often the wrong one.
    if (ran.length > 0) output.note(`Prepared the database (PDS_DATABASE_URL): ${ran.join(', ')}.`);
    const cutOff = prepares ? await announceCutOff(database) : null;
    if (cutOff !== null)
      output.note(`Announced the publication of ${cutOff}, whose import was cut off just before its end.`);
    if (shouldPrepare && !recovers && (await isHistoryOther(database))) output.note(`warning: ${HISTORY_WARNING}`);
    return await work({ config, database, clock: Date.now, output });
  } finally {
    await database.close();
  }
}

/**
 * Whether an earlier command or start has created the database. Creates nothing.
 *
 * @throws SchemaVersionError if this version cannot use its schema.
 */
export async function hasDatabase({ database: settings }: Config, use: SchemaUse = 'command'): Promise<boolean> {
  if (settings.engine === 'sqlite' && !hasSqliteFiles(sqliteFiles(settings.path))) return false;
  const database = openForCommands(settings);
  try {
    return !(await readSchemaState(database, use)).isEmpty;
  } finally {
    await database.close();
  }
}

/** Checks first, because opening a SQLite database for a command creates its files. */
function refuseMissingFiles(database: DatabaseConfig): void {
  if (database.engine === 'sqlite' && !hasSqliteFiles(sqliteFiles(database.path))) throw noDatabase(database);
}

function noDatabase(database: DatabaseConfig): NoDatabaseError {
  return new NoDatabaseError(
    database.engine === 'sqlite'
      ? `there is no database ${database.path} yet`
      : `the database ${shownPostgresUrl(database.url)} is still empty`,
  );
}

function olderSchema(pending: readonly string[]): SchemaVersionError {
  return new SchemaVersionError(
    `the schema is older than this version of the service (pending: ${pending.join(', ')}), and a dry run does not ` +
      'migrate it: run "pds migrate" first. Nothing was changed',
  );
}

function databaseOfProcess(): Config['database'] | null {
  try {
    return configOfProcess().database;
  } catch {
    return null;
  }
}
