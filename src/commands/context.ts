import { hostname, userInfo } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { sql } from 'kysely';
import type { Config } from '../config.ts';
import { databaseName, hasLog, isMissing } from '../database/configured.ts';
import { type Database, type OpenDatabase, type Operator, NoDatabaseError } from '../database/database.ts';
import { openForCommands, openForServing } from '../database/open.ts';
import { isConnectionLost, isTimeout, reasonOf } from '../database/postgres/postgres-errors.ts';
import { hasTimelineChanged } from '../database/postgres/timeline.ts';
import { haveCreated, prepareSchema, readSchemaState, refuseOlder } from '../database/migrations/migrator.ts';
import type { Clock } from '../timestamp.ts';
import type { Output } from './output/output.ts';
import { configOfProcess } from './run-command.ts';

/** The dependencies of a command that works on the database. */
export interface CommandContext {
  readonly config: Config;
  /** Opened for writing, with its schema up to date. Closed when the command is done. */
  readonly database: OpenDatabase;
  readonly clock: Clock;
  readonly output: Output;
}

export interface DatabaseSettings {
  /** True if the command can create a missing database or fill an empty one. */
  readonly mayCreate?: boolean;
  /** True if it migrates an older SQLite database, after a backup. All other commands refuse an older schema. */
  readonly mayUpgrade?: boolean;
  /** False if the command prepares the schema itself. */
  readonly shouldPrepare?: boolean;
  /** True if it works without the catalog, which can be missing or damaged. */
  readonly mayLackCatalog?: boolean;
  /** True for the command that resolves the `TIMELINE_WARNING`. */
  readonly recovers?: boolean;
}

export const TIMELINE_WARNING =
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
    mayLackCatalog = false,
    recovers = false,
  }: DatabaseSettings = {},
): Promise<T> {
  const config = configOfProcess();
  const name = databaseName(config.database);
  if (isMissing(config.database)) {
    if (!mayCreate) throw new NoDatabaseError(`there is no database ${name} yet`);
  } else if (shouldPrepare && !mayUpgrade && hasLog(config.database)) {
    // An older database is refused without a change to its files.
    await using database = openForServing(config.database, null, mayLackCatalog);
    refuseOlder(await readSchemaState(database));
  }
  const operator = operatorOfProcess(config);
  await using database = openForCommands(config.database, operator, mayLackCatalog);
  await awaitPrimary(database, output);
  if (!mayCreate) {
    const state = await readSchemaState(database);
    if (state.isEmpty) throw new NoDatabaseError(`the database ${name} is empty`);
    refuseOlder(state);
  }
  const ran = mayCreate && shouldPrepare ? await prepareDatabase(database, config, output, mayUpgrade) : [];
  if (shouldPrepare && !recovers && (await hasTimelineChanged(database))) output.note(`warning: ${TIMELINE_WARNING}`);
  const result = await work({ config, database, clock: Date.now, output });
  // Reported, since an empty database is often the wrong one.
  if (haveCreated(ran)) output.note(`Created the database ${name} (PDS_DATABASE_URL).`);
  return result;
}

async function prepareDatabase(database: OpenDatabase, config: Config, output: Output, mayUpgrade: boolean) {
  if (!mayUpgrade) return prepareSchema(database, Date.now);
  // Loaded on use: only `pds import` upgrades here, and a backup needs Ajv.
  const { migratingWithProgress } = await import('./migrating.ts');
  const { ran } = await migratingWithProgress(output, config.database, (options) =>
    prepareSchema(database, Date.now, 'command', options),
  );
  if (ran.length > 0 && !haveCreated(ran)) output.note(`Migrated the database (PDS_DATABASE_URL): ${ran.join(', ')}.`);
  return ran;
}

/** Whether the database is missing or empty. Creates nothing. @throws SchemaVersionError if it cannot be used. */
export async function isEmptyOrMissing({ database: settings }: Config, output: Output): Promise<boolean> {
  // Opening it would create it.
  if (isMissing(settings)) return true;
  await using database = openForCommands(settings);
  await awaitPrimary(database, output);
  return (await readSchemaState(database)).isEmpty;
}

/** Names are cut at this length: the environment could make them any length. */
const MAX_NAME_LENGTH = 100;

/** The user running this process, according to the operating system. */
export function operatorOfProcess({ auditRetentionDays, keepReleases }: Config): Operator {
  const who = `${nameOfUser()}@${hostname()}`;
  // Only a hint: the user can set this environment variable to any name.
  const sudoUser = process.env['SUDO_USER'];
  const name = sudoUser === undefined ? who : `${who} (sudo by ${asWord(sudoUser)})`;
  return { name, auditRetentionDays, keepReleases };
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

/** A cluster takes 24 s to replace a lost host. */
const MAX_WAIT_MS = 60_000;
const RETRY_MS = 500;

/**
 * Connects a command to its database. If there is no primary of PostgreSQL at the moment, waits for one, and reports that.
 *
 * @throws the last error after `maxWaitMs`, and at once any error that another primary would not resolve.
 */
export async function awaitPrimary({ kysely }: Database, output: Pick<Output, 'note'>, maxWaitMs = MAX_WAIT_MS) {
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
