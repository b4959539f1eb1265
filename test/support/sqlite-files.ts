import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { OpenDatabase } from '../../src/database/database.ts';
import { openForCommands } from '../../src/database/open.ts';
import { migrate } from '../../src/database/migrations/migrator.ts';

/** The files of a SQLite database that is open only during `use`. */
export interface SqliteFiles {
  /** A temporary folder that contains nothing else. */
  readonly folder: string;
  /** The catalog's file. */
  readonly path: string;
  /** Environment variables for a process on this database. */
  readonly settings: Record<string, string>;
  /** Opens and migrates the database, runs the work, and closes it. */
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
        await migrate(database, Date.now);
        return await work(database);
      } finally {
        await database.close();
      }
    },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}
