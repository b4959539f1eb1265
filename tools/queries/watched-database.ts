import type { KyselyPlugin } from 'kysely';
import type { OpenDatabase } from '../../src/database/database.ts';
import { withHead } from '../../src/database/postgres/postgres.ts';
import { joinTexts } from '../../src/database/sqlite/sqlite.ts';
import { StatementCache } from '../../src/database/statement.ts';

/** The same database. `onStatement` receives each statement's text, and its name if any, before it runs. */
export function watchStatements(
  database: OpenDatabase,
  onStatement: (text: string, name: string | null) => void,
): OpenDatabase {
  const { kysely } = database;
  const statements = new StatementCache();
  const plugin: KyselyPlugin = {
    transformQuery: ({ node, queryId }) => {
      onStatement(kysely.getExecutor().compileQuery(node, queryId).sql, null);
      return node;
    },
    transformResult: async ({ result }) => Promise.resolve(result),
  };
  return {
    ...database,
    kysely: kysely.withPlugin(plugin),
    run: (statementKey, build, values, source) => {
      onStatement(statements.get(kysely, statementKey, build).text, statementKey);
      return database.run(statementKey, build, values, source);
    },
    readTexts: (statementKey, build, values, source) => {
      const textsOf = database.engine === 'sqlite' ? joinTexts : withHead;
      onStatement(statements.get(kysely, statementKey, () => textsOf(build())).text, statementKey);
      return database.readTexts(statementKey, build, values, source);
    },
    // The same statement that PostgreSQL's health probe runs on its own connection.
    readRevision: () => database.readRevision(),
  };
}
