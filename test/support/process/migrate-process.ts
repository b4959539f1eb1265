import type { DatabaseConfig } from '../../../src/config.ts';
import { openForCommands } from '../../../src/database/open.ts';
import { migrate } from '../../../src/database/migrations/migrator.ts';
import { interrupted, Interruption } from './interruption.ts';

/*
 * A program that migrates the database configured in its first argument (JSON), and prints the steps that ran, and
 * `prepared` if it prepared an upgrade. With a second argument it kills itself before the statement with that number.
 */

const database = openForCommands(JSON.parse(process.argv[2] ?? '') as DatabaseConfig);
const killedAt = Number(process.argv[3] ?? 0);
const ending = new Interruption((statement) => {
  if (statement === killedAt) process.kill(process.pid, 'SIGKILL');
});
const prepared: string[] = [];
const beforeUpgrade = async (): Promise<void> => void prepared.push('prepared');
const ran = await migrate(interrupted(database, ending), Date.now, { beforeUpgrade });
process.stdout.write(JSON.stringify([...ran, ...prepared]));
await database.close();
