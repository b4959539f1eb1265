import { fileURLToPath } from 'node:url';
import type { OpenDatabase } from '../../src/database/database.ts';
import { formatFor } from '../format.ts';
import { renderDocuments } from './documents.ts';
import { fillDatabase } from './generated-database.ts';
import { planOnPostgres, planOnSqlite } from './plans.ts';
import { listServingStatements } from './serving-statements.ts';

/**
 * The documents in `docs/queries`, by file name.
 *
 * @param sqlite and `postgres` must be migrated, empty and open for writing.
 */
export async function describeQueries(
  sqlite: OpenDatabase,
  postgres: OpenDatabase,
  postgresUrl: string,
): Promise<Map<string, string>> {
  for (const database of [sqlite, postgres]) await fillDatabase(database);
  const documents = renderDocuments({
    sqlite: await planOnSqlite(sqlite, await listServingStatements(sqlite)),
    postgres: await planOnPostgres(postgresUrl, await listServingStatements(postgres)),
  });
  const path = fileURLToPath(new URL('../../docs/queries/README.md', import.meta.url));
  for (const [name, text] of documents) documents.set(name, await formatFor(path, text));
  return documents;
}
