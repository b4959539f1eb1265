import { readConfig, ConfigError, type DatabaseConfig } from '../../config.ts';
import { openForCommands } from '../../database/open.ts';
import { sqliteCode } from '../../database/sqlite/sqlite-errors.ts';
import { OperatorError } from '../../operator-error.ts';
import { transfer } from '../../recovery/transfer.ts';
import { hasRoles } from '../../roles/roles.ts';
import { SETTINGS } from '../../settings.ts';
import { operatorOfProcess, shownDatabase, type CommandContext } from '../context.ts';
import { causeOf, describeFailure } from '../output/failure.ts';
import { startProgress } from '../output/progress.ts';

/** `pds transfer`: copies everything into an empty database of either engine. */
export async function transferDatabase(
  { config, database: source, clock, output }: CommandContext,
  url: string,
): Promise<undefined> {
  const settings = parseTarget(url);
  const progress = startProgress(output, 'Interrupted; nothing was transferred. Run the command again to start over.');
  try {
    await using target = openForCommands(settings, operatorOfProcess(config));
    const { tables, note } = await transfer(source, target, {
      clock,
      onWaiting: () => output.note('Waiting up to a minute for a running import to finish.'),
      onProgress: ({ done, total, what }) => progress.show('Transferring', done, total, [what]),
      onCommit: () => {
        progress.throwIfInterrupted();
        progress.setInterruptedMessage(
          'Interrupted during the commit: run the command again, which reports the state.',
        );
      },
    });
    const rows = Object.values(tables).reduce((sum, count) => sum + count, 0);
    output.done({ engine: settings.engine, rows, tables, notes: note === null ? [] : [note] }, [
      `Transferred ${rows} rows to ${shownDatabase(settings)}, which is ready to serve.`,
      'Set PDS_DATABASE_URL to it and restart the service. Changes made to the former database from now on are not in it.',
      ...(note === null ? [] : [note]),
    ]);
    if (settings.engine === 'postgres' && !(await hasRoles(target))) {
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

/** @throws OperatorError for anything that PDS_DATABASE_URL would not accept. The value can contain a password. */
function parseTarget(url: string): DatabaseConfig {
  try {
    return readConfig({ PDS_DATABASE_URL: url }).database;
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    throw new OperatorError(`the target must be ${SETTINGS.PDS_DATABASE_URL.accepts}. Nothing was changed`);
  }
}

/** An error of SQLite is of the database on SQLite, and any other of the other one. */
function describe(error: unknown, source: DatabaseConfig, target: DatabaseConfig): string {
  const engine = sqliteCode(error) === null ? 'postgres' : 'sqlite';
  if (target.engine !== engine) return describeFailure(error, source);
  return describeFailure(error, target).replace('PDS_DATABASE_URL', 'the URL of the target');
}
