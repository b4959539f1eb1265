import { fileURLToPath } from 'node:url';
import type { OpenDatabase } from '../../src/database/database.ts';
import { formatFor } from '../format.ts';
import { renderDocuments } from './documents.ts';
import { listServingStatements } from './serving-statements.ts';

/**
 * The documents in `docs/queries`, by file name.
 *
 * @param sqlite and `postgres` must be migrated, and open for writing.
 */
export async function describeQueries(sqlite: OpenDatabase, postgres: OpenDatabase): Promise<Map<string, string>> {
  const documents = renderDocuments({
    sqlite: await listServingStatements(sqlite),
    postgres: await listServingStatements(postgres),
  });
  const path = fileURLToPath(new URL('../../docs/queries/README.md', import.meta.url));
  for (const [name, text] of documents) documents.set(name, await formatFor(path, text));
  return documents;
}
