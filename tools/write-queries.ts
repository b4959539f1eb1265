import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { openForCommands } from '../src/database/open.ts';
import { migrate } from '../src/database/migrations/migrator.ts';
import { startServer } from '../test/support/postgres.ts';
import { describeQueries } from './queries/describe-queries.ts';

// Writes docs/queries: the statements of a serving process. A test compares them with the service.

const folder = mkdtempSync(join(tmpdir(), 'pds-queries-'));
const server = await startServer();
try {
  const sqlite = openForCommands({ engine: 'sqlite', path: join(folder, 'pds.sqlite') });
  const postgres = openForCommands({ engine: 'postgres', url: server.url });
  for (const database of [sqlite, postgres]) await migrate(database, Date.now);
  const documents = await describeQueries(sqlite, postgres);
  const target = fileURLToPath(new URL('../docs/queries', import.meta.url));
  mkdirSync(target, { recursive: true });
  for (const [name, text] of documents) writeFileSync(join(target, name), text);
  await Promise.all([sqlite.close(), postgres.close()]);
} finally {
  await server.stop();
  rmSync(folder, { recursive: true });
}
