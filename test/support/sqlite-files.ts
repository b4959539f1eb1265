import { closeSync, cpSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { sql } from 'kysely';
import { expect } from 'vitest';
import type { OpenDatabase } from '../../src/database/database.ts';
import { openForCommands } from '../../src/database/open.ts';
import { migrate } from '../../src/database/migrations/migrator.ts';
import { SqliteConnection } from '../../src/database/sqlite/sqlite-files.ts';

/** The files of a SQLite database that is open only during `use`. */
export interface SqliteFiles {
  /** A temporary folder that contains nothing else. */
  readonly folder: string;
  /** The catalog's file. */
  readonly path: string;
  /** Environment variables for a process on this database. */
  readonly settings: { readonly PDS_DATABASE_URL: string };
  /** Opens and migrates the database, runs the work, and closes it. */
  use<T>(work: (database: OpenDatabase) => Promise<T>): Promise<T>;
  /** Keeps all files of the database as they are now, for `reset`. */
  save(): void;
  reset(): void;
  remove(): void;
}

export function createSqliteFiles(): SqliteFiles {
  const folder = mkdtempSync(join(tmpdir(), 'pds-test-'));
  const path = join(folder, 'data', 'pds.sqlite');
  const saved = join(folder, 'saved');
  return {
    folder,
    path,
    settings: { PDS_DATABASE_URL: `sqlite:${path}` },
    async use(work) {
      await using database = openForCommands({ engine: 'sqlite', path });
      await migrate(database, Date.now);
      return await work(database);
    },
    save: () => cpSync(dirname(path), saved, { recursive: true }),
    reset() {
      rmSync(dirname(path), { recursive: true, force: true });
      cpSync(saved, dirname(path), { recursive: true });
    },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

const PAGE_BYTES = 8192;

/** Overwrites the first page of a table or index in a file that nobody has open. */
export function overwritePage(path: string, name: string): void {
  using connection = new SqliteConnection(path);
  const root = Number(connection.prepare('select rootpage from sqlite_schema where name = ?').get(name)?.['rootpage']);
  connection.close();
  const file = openSync(path, 'r+');
  writeSync(file, Buffer.alloc(PAGE_BYTES, 0xab), 0, PAGE_BYTES, (root - 1) * PAGE_BYTES);
  closeSync(file);
}

/** Asserts that neither file of a database is damaged. PostgreSQL has no such check. */
export async function expectIntact({ engine, kysely }: OpenDatabase): Promise<void> {
  if (engine === 'postgres') return;
  for (const file of ['catalog', 'access']) {
    const { rows } = await sql.raw(`pragma ${file}.integrity_check`).execute(kysely);
    expect(rows).toEqual([{ integrity_check: 'ok' }]);
  }
}
