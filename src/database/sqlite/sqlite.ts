import { mkdirSync, rmSync, statSync } from 'node:fs';
import type * as sqlite from 'node:sqlite';
import { basename, dirname } from 'node:path';
import { Kysely, sql, SqliteDialect, type RawBuilder, type SqliteDatabase, type SqliteStatement } from 'kysely';
import { LRUCache } from 'lru-cache';
import {
  type CatalogFiles,
  type Database,
  type OpenDatabase,
  type ParameterValues,
  type Texts,
  type TextsQuery,
  DatabaseUnavailableError,
} from '../database.ts';
import { createdCatalog } from '../migrations/schemas.ts';
import { readRevision } from '../revision.ts';
import { bindParameters, firstRow, StatementCache } from '../statement.ts';
import type { Tables } from '../tables.ts';
import { attach, AttachedCatalog, CACHE_KIB } from './attached-catalog.ts';
import { copyCatalog, deleteOtherCatalogs, tryImportLock } from './catalog-files.ts';
import { makeLike, syncToDisk } from './durable-files.ts';
import { catalogPath, listCatalogFiles, newCatalogName } from './file-names.ts';
import {
  describeSqliteError,
  findFolder,
  FormerDatabaseError,
  freeBytes,
  hasTable,
  makePrivateFile,
  refuseLoneFiles,
  SMALL_BYTES,
  SQLITE_FULL,
  SQLITE_READONLY,
  sqliteCode,
  SqliteConnection,
} from './sqlite-files.ts';

/** How long a statement waits for another process's lock. Changes of the catalog have one of their own. */
const BUSY_TIMEOUT_MS = 5_000;

/** Maximum number of cached prepared statements. A server uses fewer. */
const PREPARED_STATEMENTS = 500;

/**
 * Opens a SQLite database: the file with partners, keys and the log as `access`, and the catalog that the log names as
 * `catalog`.
 *
 * @param mayLackCatalog see `openForServing`.
 * @throws DatabaseUnavailableError if a file cannot be opened; `FormerDatabaseError` if it is of a version before 2.0.
 */
export function openSqlite(path: string, mode: 'read' | 'write', mayLackCatalog = false) {
  // Not its parents: a path to an unmounted disk is a mistake.
  if (mode === 'write') mkdirSync(findFolder(path), { recursive: true });
  refuseLoneFiles(path);
  const connection = new SqliteConnection(':memory:', { timeout: BUSY_TIMEOUT_MS });
  const number = fileNumber(path);
  try {
    // Contains key digests and the cursor secret.
    if (mode === 'write') makePrivateFile(path);
    attach(connection, 'access', path, mode === 'read' ? 'mode=ro' : 'mode=rwc');
    connection.prepare('select count(*) from access.sqlite_schema').get();
    if (number !== null && number !== fileNumber(path)) throw replaced(path);
    refuseCatalog(connection, path);
    if (mode === 'write') {
      // Only a writer sets the journal mode: concurrent readers doing so would get "database is locked".
      connection.exec(
        'pragma access.page_size = 8192; pragma access.journal_mode = wal; pragma access.synchronous = full',
      );
      makeRoom(connection, path);
    }
    connection.exec('pragma temp_store = memory');
    const attached = new AttachedCatalog(connection, path, mayLackCatalog);
    attached.attachCurrent();
    const catalogFiles: CatalogFiles = {
      path,
      attachCurrent() {
        attached.attachCurrent(true);
        return attached.file;
      },
    };
    return { ...databaseOn(connection, attached), catalogFiles };
  } catch (error) {
    connection.close();
    if (number !== null && number !== fileNumber(path)) throw replaced(path);
    const message = describeSqliteError(error, path);
    if (message === null) throw error;
    throw new DatabaseUnavailableError(message, { cause: error });
  }
}

/** Opens two files that nobody else uses as one database. */
export function openStaged(access: string, catalog: string): OpenDatabase {
  const connection = new SqliteConnection(':memory:', { timeout: BUSY_TIMEOUT_MS });
  attach(connection, 'access', access, 'mode=rw');
  attach(connection, 'catalog', catalog, 'mode=rw');
  // A trigger that someone has planted in a backup must not run, and a write-ahead log not be left.
  connection.exec(
    'pragma trusted_schema = off; pragma access.journal_mode = delete; pragma catalog.journal_mode = delete',
  );
  return databaseOn(connection, null);
}

/** Refuses a catalog at the database's path: that of a version before 2.0, or one of a backup that was copied there. */
function refuseCatalog(connection: sqlite.DatabaseSync, path: string): void {
  // A table that no catalog has since.
  if (hasTable(connection, 'publications')) throw new FormerDatabaseError(path);
  if (!hasTable(connection, 'index_blocks')) return;
  throw new DatabaseUnavailableError(
    `${path} has a catalog without its partners and keys: move it away, and put a backup in place with "pds restore DIR --access"`,
  );
}

/** A restore replaces the file that it has locked, so a process that waited for that lock has the old file open. */
function replaced(path: string): DatabaseUnavailableError {
  return new DatabaseUnavailableError(`${path} was replaced while it was being opened: try again`);
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

/**
 * Makes room on a nearly full disk for a change of partners or keys: deletes what killed imports left, and lets the change
 * overwrite the write-ahead log from its beginning.
 */
function makeRoom(connection: sqlite.DatabaseSync, path: string): void {
  if (freeBytes(path) >= SMALL_BYTES || !hasTable(connection, 'events')) return;
  using lock = tryImportLock(path);
  if (lock !== null) {
    const rows = connection.prepare('select distinct file from access.events where file is not null').all();
    deleteOtherCatalogs(path, new Set(rows.map(({ file }) => String(file))));
  }
  try {
    connection.exec('pragma access.wal_checkpoint(restart)');
  } catch (error) {
    // Committed pages can need more room in their file than there is.
    if (sqliteCode(error) !== SQLITE_FULL) throw error;
  }
}

/** @param attached the catalog that statements follow; null if both files stay attached, whatever the log names. */
function databaseOn(connection: sqlite.DatabaseSync, attached: AttachedCatalog | null): OpenDatabase {
  const prepared = preparing(connection);
  const own: SqliteDatabase = {
    prepare(text) {
      attached?.attachCurrent();
      return prepared.prepare(text);
    },
    close: () => prepared.close(),
  };
  const kysely = new Kysely<Tables>({ dialect: new SqliteDialect({ database: own }) });
  const statements = new StatementCache();
  const close = async (): Promise<void> => {
    await kysely.destroy();
    if (connection.isOpen) connection.close();
  };
  const read = <Row>(statementKey: string, build: () => RawBuilder<Row>, values: ParameterValues): Row[] => {
    const statement = statements.get(kysely, statementKey, build);
    for (;;) {
      const rows = prepared.prepare(statement.text).all(bindParameters('sqlite', statement, values)) as Row[];
      if (attached?.isCurrentFor((rows[0] as { revision?: unknown } | undefined)?.revision) !== false) return rows;
    }
  };
  return {
    engine: 'sqlite',
    kysely,
    run: read,
    readTexts: async <Row>(statementKey: string, build: () => TextsQuery<Row>, values: ParameterValues) => {
      const row = firstRow(read(statementKey, () => joinTexts(build()), values));
      const { text_count: count, bytes, last_key, changes_at } = row;
      return { head: row, count, bytes: bytes ?? new Uint8Array(), last_key, changes_at };
    },
    runEach: runEachOn(prepared),
    readRevision: () => readRevision(kysely),
    bypassReplicas: () => undefined,
    close,
    [Symbol.asyncDispose]: close,
  };
}

function runEachOn(prepared: SqliteDatabase): NonNullable<OpenDatabase['runEach']> {
  return (text, parameterLists) => {
    const statement = prepared.prepare(text);
    for (const parameters of parameterLists) statement.run(parameters);
  };
}

/**
 * Opens a catalog for changes. The first one copies it to a new file, and begins a transaction there.
 *
 * @param path of the database that the new catalog is for.
 * @param number of the release or reset that will name it.
 * @param original the path of the catalog; null for an empty one. One of another database is copied at once.
 * @param roomShare as `copyCatalog`.
 */
export function openDraft(path: string, number: number, original: string | null, roomShare = 1) {
  const connection = new SqliteConnection(':memory:', { timeout: BUSY_TIMEOUT_MS });
  connection.exec('pragma temp_store = memory; pragma trusted_schema = off');
  let name: string | null = null;
  const begin = (): void => {
    name = newCatalogName(path, number);
    const file = catalogPath(path, name);
    if (original === null) {
      makePrivateFile(file);
      makeLike(file, path);
    } else copyCatalog(original, file, path, roomShare);
    attach(connection, 'catalog', file, 'mode=rw');
    // A file that is thrown away if anything fails need not be on disk before it is complete. Without a journal, which
    // Node's SQLite refuses, a failed statement would keep half of its rows.
    connection.exec(
      `pragma catalog.page_size = 8192; pragma catalog.journal_mode = delete; pragma catalog.synchronous = off;
      pragma catalog.cache_size = -${CACHE_KIB}; begin`,
    );
    if (original === null) for (const statement of createdCatalog()) connection.exec(statement);
  };
  const removeCopy = (): void => {
    if (connection.isOpen) connection.close();
    if (name === null) return;
    for (const suffix of ['', '-journal']) rmSync(catalogPath(path, name) + suffix, { force: true });
  };
  try {
    if (original === null || !listCatalogFiles(path).includes(original)) begin();
    else attach(connection, 'catalog', original, 'mode=ro&immutable=1');
  } catch (error) {
    removeCopy();
    throw error;
  }
  const prepared = preparing(connection, (run) => {
    try {
      return run();
    } catch (error) {
      if (sqliteCode(error) !== SQLITE_READONLY || name !== null) throw error;
      connection.exec('detach catalog');
      begin();
      return run();
    }
  });
  const kysely = new Kysely<Tables>({ dialect: new SqliteDialect({ database: prepared }) });
  return {
    /** Has the catalog alone, not `access`. */
    database: { engine: 'sqlite', kysely, runEach: runEachOn(prepared) } satisfies Database,
    /** Commits, waits until the file is on disk, and closes it. Returns its name: the catalog's own without a change. */
    complete(): string {
      if (name === null) {
        connection.close();
        return basename(original ?? '');
      }
      connection.exec('pragma catalog.optimize; commit');
      connection.close();
      syncCatalog(path, name);
      return name;
    },
    /** Adds the release to the completed file. */
    stamp(release: number, at: string): void {
      if (name === null) throw new Error('a catalog without a change is no release');
      {
        using file = new SqliteConnection(catalogPath(path, name));
        file.exec('pragma synchronous = off');
        file.prepare('insert into releases (number, at) values (?, ?)').run(release, at);
      }
      syncCatalog(path, name);
    },
    /** Closes the file, and removes the copy. */
    discard: removeCopy,
  };
}

function syncCatalog(path: string, name: string): void {
  syncToDisk(catalogPath(path, name));
  syncToDisk(dirname(path));
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

/** Caches the prepared statements of a connection. @param execute runs each execution of a statement. */
function preparing(connection: sqlite.DatabaseSync, execute: <T>(run: () => T) => T = (run) => run()): SqliteDatabase {
  const prepared = new LRUCache<string, SqliteStatement>({
    max: PREPARED_STATEMENTS,
    memoMethod: (text) => {
      const statement = connection.prepare(text);
      return {
        reader: statement.columns().length > 0,
        all: (parameters) => execute(() => statement.all(...(parameters as sqlite.SQLInputValue[]))),
        run: (parameters) => execute(() => statement.run(...(parameters as sqlite.SQLInputValue[]))),
        iterate: (parameters) => statement.iterate(...(parameters as sqlite.SQLInputValue[])),
      };
    },
  });
  return {
    prepare: (text) => prepared.memo(text),
    close() {
      prepared.clear();
      connection.close();
    },
  };
}
