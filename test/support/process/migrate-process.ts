import type { DatabaseConfig } from '../../../src/config.ts';
import { openForCommands } from '../../../src/database/open.ts';
import { migrate } from '../../../src/database/migrations/migrator.ts';

/*
 * A program that migrates the database configured in its first argument (JSON), and prints the steps that ran, and
 * `prepared` if it prepared an upgrade.
 */

const database = openForCommands(JSON.parse(process.argv[2] ?? '') as DatabaseConfig);
const prepared: string[] = [];
const beforeUpgrade = async (): Promise<void> => void prepared.push('prepared');
const ran = await migrate(database, Date.now, { beforeUpgrade });
process.stdout.write(JSON.stringify([...ran, ...prepared]));
await database.close();
