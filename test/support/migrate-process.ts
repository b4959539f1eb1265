import type { DatabaseConfig } from '../../src/config.ts';
import { openForCommands } from '../../src/database/database.ts';
import { migrate } from '../../src/database/migrator.ts';

/* A program: migrates the database whose configuration stands in the first argument, and prints what ran. */

const database = openForCommands(JSON.parse(process.argv[2] ?? '') as DatabaseConfig);
process.stdout.write(JSON.stringify(await migrate(database, Date.now)));
await database.close();
