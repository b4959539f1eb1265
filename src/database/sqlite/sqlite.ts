import { statSync } from 'node:fs';
import type * as sqlite from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import { Kysely, sql, SqliteDialect, type RawBuilder, type SqliteDatabase, type SqliteStatement } from 'kysely';
import { LRUCache } from 'lru-cache';
import {
  type OpenDatabase,
  type ParameterValues,
  type Texts,
  type TextsQuery,
  DatabaseUnavailableError,
} from '../database.ts';
import { readRevision } from '../revision.ts';
import { describeSqliteError, makePrivateFile, prepareFolder, SqliteConnection, sqliteFiles } from './sqlite-files.ts';
import { emptyCatalogLog, makeRoom } from './sqlite-log.ts';
import { bindParameters, firstRow, StatementCache } from '../statement.ts';
import type { Tables } from '../tables.ts';

/** How long a statement waits for another process's lock. Imports hold the catalog's for longer: see `lockCatalog`. */
const BUSY_TIMEOUT_MS = 5_000;

/** The catalog's page cache per connection. A pragma without a schema name would set another file's cache. */
const CACHE_KIB = 64 * 1024;

/** Maximum number of cached prepared statements. A server uses fewer. */
const PREPARED_STATEMENTS = 500;

/**
 * Opens the two files of a SQLite database, attached as `catalog` and `access` in this order: a commit that wrote to
 * both files writes the catalog to disk first (`publishing/publish.ts` explains why that matters).
 *
 * @throws DatabaseUnavailableError if a file cannot be opened.
 */
export function openSqlite(path: string, mode: 'read' | 'write'): OpenDatabase {
  const files = sqliteFiles(path);
  if (mode === 'write') prepareFolder(files);
  const connection = new SqliteConnection(':memory:', { timeout: BUSY_TIMEOUT_MS });
  const opened = new Map<string, bigint | null>();
  try {
    for (const schema of ['catalog', 'access'] as const) {
      const file = files[schema];
      // Contains key digests and the cursor secret.
      if (mode === 'write' && schema === 'access') makePrivateFile(file);
      const uri = `${pathToFileURL(file).href}?mode=${mode === 'read' ? 'ro' : 'rwc'}`;
      opened.set(file, fileNumber(file));
      connection.prepare(`attach ? as ${schema}`).run(uri);
      if (mode === 'write') {
        // Only a writer sets the journal mode: concurrent readers doing so would get "database is locked".
        connection.exec(
          `pragma ${schema}.page_size = 8192; pragma ${schema}.journal_mode = wal; pragma ${schema}.synchronous = full`,
        );
      } else {
        connection.prepare(`select count(*) from ${schema}.sqlite_schema`).get();
      }
      refuseReplaced(opened);
    }
    if (mode === 'write') makeRoom(connection, files);
    connection.exec(`pragma temp_store = memory; pragma catalog.cache_size = -${CACHE_KIB}`);
  } catch (error) {
    connection.close();
    refuseReplaced(opened);
    const message = describeSqliteError(error, [...opened.keys()].slice(-1));
    if (message === null) throw error;
    throw new DatabaseUnavailableError(message, { cause: error });
  }
  const prepared = new KyselyConnection(connection);
  const kysely = new Kysely<Tables>({ dialect: new SqliteDialect({ database: prepared }) });
  const statements = new StatementCache();
  const close = async (): Promise<void> => {
    await kysely.destroy();
    if (connection.isOpen) connection.close();
  };
  const read = <Row>(statementKey: string, build: () => RawBuilder<Row>, values: ParameterValues): Row[] => {
    const statement = statements.get(kysely, statementKey, build);
    return prepared.prepare(statement.text).all(bindParameters('sqlite', statement, values)) as Row[];
  };
  return {
    engine: 'sqlite',
    kysely,
    run: read,
    readTexts: async <Row>(statementKey: string, build: () => TextsQuery<Row>, values: ParameterValues) => {
      const rows = read(statementKey, () => joinTexts(build()), values);
      const { text_count: count, bytes, last_key, changes_at, ...head } = firstRow(rows);
      return { head: head as Row, count, bytes: bytes ?? new Uint8Array(), last_key, changes_at };
    },
    runEach: (text, parameterLists) => {
      const statement = prepared.prepare(text);
      for (const parameters of parameterLists) statement.run(parameters);
    },
    readBeside: (statement) => {
      using beside = new SqliteConnection(':memory:', { timeout: BUSY_TIMEOUT_MS });
      beside.prepare('attach ? as access').run(`${pathToFileURL(files.access).href}?mode=ro`);
      return beside.prepare(statement).get();
    },
    ...(mode === 'write' && { emptyLog: () => emptyCatalogLog(connection, files.catalog) }),
    readRevision: () => readRevision(kysely),
    bypassReplicas: () => undefined,
    close,
    [Symbol.asyncDispose]: close,
  };
}

interface JoinedTexts extends Pick<Texts, 'last_key' | 'changes_at'> {
  readonly text_count: number;
  readonly bytes: Uint8Array | null;
}

/** The statement of `readTexts`: a single row. SQLite keeps the order of a subquery whose texts are joined. */
export function joinTexts<Row>({ head, texts, isInOrder = false }: TextsQuery<Row>): RawBuilder<Row & JoinedTexts> {
  const order = isInOrder ? sql`` : sql`order by ordinal`;
  return sql`select head.*, joined.* from (${head}) as head cross join (
    select count(*) as text_count, cast(group_concat(text || char(10), '') as blob) as bytes,
      max(key) as last_key, min(changes_at) as changes_at
    from (${texts} ${order})) as joined`;
}

/**
 * Detects a file replaced while it was being opened. A restore replaces the file that it has locked, so a process that
 * waited for that lock has the old file open.
 */
function refuseReplaced(opened: ReadonlyMap<string, bigint | null>): void {
  for (const [file, number] of opened) {
    if (number === null || number === fileNumber(file)) continue;
    throw new DatabaseUnavailableError(`${file} was replaced while it was being opened: try again`);
  }
}

/** The inode, which differs between files of the same name; null if the file is missing or cannot be read. */
function fileNumber(path: string): bigint | null {
  try {
    return statSync(path, { bigint: true }).ino;
  } catch {
    // Opening it fails too, and that error is the one reported.
    return null;
  }
}

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
      prepared = {
        reader: statement.columns().length > 0,
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
