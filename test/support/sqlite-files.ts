import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openForCommands, type OpenDatabase } from '../../src/database/database.ts';
import { prepareSchema } from '../../src/database/migrator.ts';

/** The files of a SQLite database, which nobody has open but for as long as something is done with them. */
export interface SqliteFiles {
  /** A temporary folder, with nothing else in it. */
  readonly folder: string;
  /** The catalog's file. */
  readonly path: string;
  /** For a process that works on it. */
  readonly settings: Record<string, string>;
  /** Opens the database, migrated, and closes it when the work is done. */
  use<T>(work: (database: OpenDatabase) => Promise<T>): Promise<T>;
  remove(): void;
}

export function createSqliteFiles(): SqliteFiles {
  const folder = mkdtempSync(join(tmpdir(), 'pds-test-'));
  const path = join(folder, 'data', 'pds.sqlite');
  return {
    folder,
    path,
    settings: { PDS_DATABASE_URL: `sqlite:${path}` },
    async use(work) {
      const database = openForCommands({ engine: 'sqlite', path });
      try {
        await prepareSchema(database, Date.now);
        return await work(database);
      } finally {
        await database.close();
      }
    },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}
