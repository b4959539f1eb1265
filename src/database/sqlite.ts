import { statSync } from 'node:fs';
import type * as sqlite from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import { Kysely, SqliteDialect, type RawBuilder, type SqliteDatabase, type SqliteStatement } from 'kysely';
import { LRUCache } from 'lru-cache';
import type { OpenDatabase } from './database.ts';
import { DatabaseUnavailableError } from './errors.ts';
import { readRevision } from './revision.ts';
import { describeSqliteError, makePrivateFile, prepareFolder, SqliteConnection, sqliteFiles } from './sqlite-files.ts';
import { bindSlots, StatementCache, type SlotValues } from './statement.ts';
import type { Tables } from './tables.ts';

/** How long a statement waits for another process's lock. An import holds the catalog for longer; see `publishing/lock.ts`. */
const BUSY_TIMEOUT_MS = 5_000;

/** Pages of the catalog that a connection holds in memory. Without the name of the schema, the setting is another file's. */
const CACHE_KIB = { read: 64 * 1024, write: 64 * 1024 };

/** Texts of SQL whose prepared statements are kept. A server has fewer shapes of query than this. */
const PREPARED_STATEMENTS = 500;

/**
 * Opens the two files of a SQLite database, attached as `catalog` and `access` in this
 * order: at a commit that wrote to both, the catalog's is on disk first
 * (`publishing/publication.ts` says why that matters).
 */
export function openSqlite(path: string, mode: 'read' | 'write'): OpenDatabase {
  const files = sqliteFiles(path);
  if (mode === 'write') prepareFolder(files);
  const connection = new SqliteConnection(':memory:', { timeout: BUSY_TIMEOUT_MS });
  const opened = new Map<string, bigint | null>();
  let opening = path;
  try {
    for (const schema of ['catalog', 'access'] as const) {
      const file = files[schema];
      opening = file;
      // Digests of keys and the secret of the cursors are in there.
      if (mode === 'write' && schema === 'access') makePrivateFile(file);
      const uri = `${pathToFileURL(file).href}?mode=${mode === 'read' ? 'ro' : 'rwc'}`;
      opened.set(file, fileNumber(file));
      connection.prepare(`attach ? as ${schema}`).run(uri);
      if (mode === 'write') {
        // Only a writer sets the journal mode: readers that all did so at once would meet "database is locked".
        connection.exec(
          `pragma ${schema}.page_size = 8192; pragma ${schema}.journal_mode = wal; pragma ${schema}.synchronous = full`,
        );
      } else {
        connection.prepare(`select count(*) from ${schema}.sqlite_schema`).get();
      }
      refuseReplaced(opened);
    }
    connection.exec(`pragma temp_store = memory; pragma catalog.cache_size = -${CACHE_KIB[mode]}`);
  } catch (error) {
    connection.close();
    refuseReplaced(opened);
    const message = describeSqliteError(error, [opening]);
    if (message === null) throw error;
    throw new DatabaseUnavailableError(message, { cause: error });
  }
  const prepared = new KyselyConnection(connection);
  const kysely = new Kysely<Tables>({ dialect: new SqliteDialect({ database: prepared }) });
  const statements = new StatementCache();
  let closed = false;
  return {
    engine: 'sqlite',
    kysely,
    run: <Row>(shape: string, build: () => RawBuilder<Row>, values: SlotValues) => {
      const statement = statements.get(kysely, shape, build);
      return prepared.prepare(statement.text).all(bindSlots('sqlite', statement, values)) as Row[];
    },
    runEach: (text, parameterLists) => {
      const statement = prepared.prepare(text);
      for (const parameters of parameterLists) statement.run(parameters);
    },
    readRevision: () => readRevision(kysely),
    distrustReplicas: () => undefined,
    close: async () => {
      if (closed) return;
      closed = true;
      await kysely.destroy();
      if (connection.isOpen) connection.close();
    },
  };
}

/**
 * A restore puts a file in the place of one that it has locked: who waited for that lock has the
 * old file, which is the database no more.
 */
function refuseReplaced(opened: ReadonlyMap<string, bigint | null>): void {
  for (const [file, number] of opened) {
    if (number === null || number === fileNumber(file)) continue;
    throw new DatabaseUnavailableError(`${file} was replaced while it was being opened: try again`);
  }
}

/** What tells a file from another of the same name; null where there is none, or it may not be looked at. */
function fileNumber(path: string): bigint | null {
  try {
    return statSync(path, { bigint: true }).ino;
  } catch {
    // Opening it fails too, and SQLite's error is the one that is explained.
    return null;
  }
}

/** What Kysely asks of a SQLite connection, on `node:sqlite`, with prepared statements kept for the next time. */
class KyselyConnection implements SqliteDatabase {
  readonly #connection: sqlite.DatabaseSync;
  readonly #prepared = new LRUCache<string, SqliteStatement>({ max: PREPARED_STATEMENTS });

  constructor(connection: sqlite.DatabaseSync) {
    this.#connection = connection;
  }

  prepare(sql: string): SqliteStatement {
    let prepared = this.#prepared.get(sql);
    if (prepared === undefined) {
      const statement = this.#connection.prepare(sql);
      const reader = statement.columns().length > 0;
      // A statement that writes reports the last row number of anything, and those inside FTS5 are beyond 2^53.
      if (!reader) statement.setReadBigInts(true);
      prepared = {
        reader,
        all: (parameters) => statement.all(...(parameters as sqlite.SQLInputValue[])),
        run: (parameters) => statement.run(...(parameters as sqlite.SQLInputValue[])),
        iterate: (parameters) => statement.iterate(...(parameters as sqlite.SQLInputValue[])),
      };
      this.#prepared.set(sql, prepared);
    }
    return prepared;
  }

  close(): void {
    this.#prepared.clear();
    this.#connection.close();
  }
}
