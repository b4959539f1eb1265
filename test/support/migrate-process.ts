import type { DatabaseConfig } from '../../src/config.ts';
import { openForCommands } from '../../src/database/database.ts';
import { migrate } from '../../src/database/migrator.ts';
import { interrupted, Interruption } from './interruption.ts';

/*
 * A program: migrates the database whose configuration stands in the first argument, and prints what ran. With
 * a second argument it kills itself as it comes to the statement of this number.
 */

const database = openForCommands(JSON.parse(process.argv[2] ?? '') as DatabaseConfig);
const killedAt = Number(process.argv[3] ?? 0);
const ending = new Interruption((statement) => {
  if (statement === killedAt) process.kill(process.pid, 'SIGKILL');
});
process.stdout.write(JSON.stringify(await migrate(interrupted(database, ending), Date.now)));
await database.close();
