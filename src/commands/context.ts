import { readConfig, type Config } from '../config.ts';
import { openForCommands, type OpenDatabase } from '../database/database.ts';
import { prepareSchema } from '../database/migrator.ts';
import type { Clock } from '../instant.ts';
import { processOutput, type Output } from './output.ts';

/** What a command that works on the database is given. */
export interface CommandContext {
  readonly config: Config;
  /** Opened for writing, its schema up to date. Closed by `withDatabase`. */
  readonly database: OpenDatabase;
  readonly clock: Clock;
  readonly output: Output;
}

/** The configuration from this process's environment variables. */
export function configOfProcess(): Config {
  return readConfig(process.env);
}

/**
 * Runs a command on the database, and closes it whatever comes.
 *
 * @param shouldPrepare false leaves the schema as it is; otherwise an empty database and an older SQLite file are migrated.
 * @returns the exit code: that of `work`, or 0 where it returns none.
 */
export async function withDatabase(
  isJson: boolean,
  work: (context: CommandContext) => Promise<number | undefined>,
  { shouldPrepare = true } = {},
): Promise<number> {
  const config = configOfProcess();
  const output = processOutput(isJson);
  const database = openForCommands(config.database);
  try {
    const ran = shouldPrepare ? await prepareSchema(database, Date.now) : [];
    // Said aloud, since an empty database is often the wrong one.
    if (ran.length > 0) output.note(`Prepared the database (PDS_DATABASE_URL): ${ran.join(', ')}.`);
    return (await work({ config, database, clock: Date.now, output })) ?? 0;
  } finally {
    await database.close();
  }
}
