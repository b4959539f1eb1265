import { migrate, readSchemaState, refuseCountIds, type MigrateOptions } from '../../database/migrations/migrator.ts';
import { SERVING_SETTINGS } from '../../database/postgres/postgres.ts';
import { OperatorError } from '../../operator-error.ts';
import { hasRoles, makeRoles, type Roles } from '../../database/postgres/roles.ts';
import { vacuum } from '../../database/vacuum.ts';
import { type CommandContext, operatorOfProcess } from '../context.ts';
import { migratingWithProgress } from '../migrating.ts';
import { exportCatalog } from '../../recovery/export.ts';
import { completeIndex, reindex } from '../../recovery/recover.ts';
import { renderColumns } from '../output/output.ts';
import { startProgress } from '../output/progress.ts';
import { readConfig, ConfigError, type DatabaseConfig } from '../../config.ts';
import { databaseName, pathOf } from '../../database/configured.ts';
import { openForCommands } from '../../database/open.ts';
import { sqliteCode } from '../../database/sqlite/sqlite-files.ts';
import { transfer } from '../../recovery/transfer.ts';
import { causeOf, describeFailure } from '../output/failure.ts';

/** `pds migrate`: brings the schema up to this version. */
export async function migrateDatabase({ config, database, clock, output }: CommandContext): Promise<undefined> {
  if (!(await readSchemaState(database)).isEmpty) await refuseCountIds(database);
  const work = async (options: MigrateOptions): Promise<string[]> => {
    const ran = await migrate(database, clock, options);
    return [...ran, ...(await completeIndex(database, { clock, ...options }))];
  };
  const { ran, backup } = await migratingWithProgress(output, config.database, work);
  // After migrations that rewrite all rows, the planner lacks statistics and SQLite's WAL is as large as the database.
  if (ran.length > 0) await vacuum(database, Infinity);
  output.done({ migrations: ran, backup }, ran.length === 0 ? 'The schema is up to date.' : `Ran ${ran.join(', ')}.`);
  if (ran.length > 0 && (await hasRoles(database)) === true) {
    output.note('Other roles use the tables: run "pds roles" again to grant them access to new tables.');
  }
}

/** `pds roles`: creates or updates the PostgreSQL roles for serving and for commands. */
export async function updateRoles(
  { database, clock, output }: CommandContext,
  { reader, writer }: Roles,
): Promise<undefined> {
  const created = await makeRoles(database, clock, { reader, writer });
  output.done({ reader, writer, created, reader_settings: SERVING_SETTINGS }, [
    `${reader} can serve, and ${writer} can run commands. Run this again after each "pds migrate".`,
    ...created.map((role) => `${role} is new and has no password: set one in psql with "\\password ${role}".`),
  ]);
}

/** `pds reindex`: rebuilds the index from the stored records. */
export async function reindexDatabase({ database, clock, output }: CommandContext): Promise<undefined> {
  const progress = startProgress(output, 'Interrupted; nothing was changed.');
  const { timestamp, kinds, note } = await reindex(database, {
    clock,
    ...progress.hooks('Rebuilding', '"pds audit" shows whether the index was rebuilt'),
  }).finally(progress.stop);
  const placedAgain = kinds.filter(({ isPlacedAgain }) => isPlacedAgain).map(({ kind }) => kind);
  const notes = note === null ? [] : [note];
  output.done(
    {
      published_at: timestamp,
      kinds: kinds.map(({ kind, records, isPlacedAgain }) => ({ kind, records, placed_again: isPlacedAgain })),
      notes,
    },
    [
      `Rebuilt the index of ${kinds.map(({ kind, records }) => `${records} ${kind}`).join(', ')} at ${timestamp}. No record changed.`,
      ...(placedAgain.length > 0 ? [`Put records in order that were not: ${placedAgain.join(', ')}.`] : []),
      ...notes,
    ],
  );
}

/** `pds export`: writes the catalog into a new folder, in the format of imports. */
export async function exportDirectory({ database, output }: CommandContext, directory: string): Promise<undefined> {
  const progress = startProgress(output, 'Interrupted; nothing was exported.');
  const { publishedAt, kinds, notes } = await exportCatalog(database, directory, ({ done, total, what }) =>
    progress.show('Exporting', done, total, [what]),
  ).finally(progress.stop);
  const rows = Object.entries(kinds).map(([kind, records]) => [String(records), kind]);
  output.done({ directory, publishedAt, kinds, notes }, [
    ...renderColumns([['RECORDS', 'KIND'], ...rows]),
    ...notes,
    publishedAt === null
      ? `Exported an empty catalog to ${directory}.`
      : `Exported the release at ${publishedAt} to ${directory}. To undo later imports: pds import ${directory} --replace`,
  ]);
}

/** `pds transfer`: copies everything from SQLite into an empty database of PostgreSQL. */
export async function transferDatabase(
  { config, database: source, clock, output }: CommandContext,
  url: string,
): Promise<undefined> {
  if (pathOf(config.database) === null) {
    throw new OperatorError(
      'PDS_DATABASE_URL names a PostgreSQL database, and "pds transfer" copies only from SQLite. Copy PostgreSQL with its own tools, ' +
        'or its records with "pds export" and "pds import". Nothing was changed',
    );
  }
  const settings = parseTarget(url);
  const progress = startProgress(output, 'Interrupted; nothing was transferred. Run the command again to start over.');
  try {
    await using target = openForCommands(settings, operatorOfProcess(config));
    const hooks = progress.hooks('Transferring', 'run the command again, which reports the state');
    const { tables, note } = await transfer(source, target, { clock, ...hooks });
    const rows = Object.values(tables).reduce((sum, count) => sum + count, 0);
    const notes = note === null ? [] : [note];
    output.done({ engine: settings.engine, rows, tables, notes }, [
      `Transferred ${rows} rows to the database ${databaseName(settings)}, which is ready to serve.`,
      'Set PDS_DATABASE_URL to it and restart the service. Later changes of the former database are not transferred.',
      ...notes,
    ]);
    if ((await hasRoles(target)) === false) {
      output.note('For roles with fewer rights than the owner, run "pds roles" on it.');
    }
  } catch (thrown) {
    const error = causeOf(thrown);
    if (error instanceof OperatorError) throw error;
    throw new OperatorError(describe(error, config.database, settings), { cause: error });
  } finally {
    progress.stop();
  }
}

/** @throws OperatorError for another database than one of PostgreSQL. The value can contain a password. */
function parseTarget(url: string): DatabaseConfig {
  try {
    const { database } = readConfig({ PDS_DATABASE_URL: url });
    if (pathOf(database) === null) return database;
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
  }
  throw new OperatorError(
    'the target must be postgres://USER:PASSWORD@HOST:PORT/DATABASE; "pds backup" copies a SQLite database. Nothing was changed',
  );
}

/** The error shows whether it is from the source, which is SQLite, or from the target. */
function describe(error: unknown, source: DatabaseConfig, target: DatabaseConfig): string {
  if (sqliteCode(error) !== null) return describeFailure(error, source);
  return describeFailure(error, target).replace('PDS_DATABASE_URL', 'the URL of the target');
}
