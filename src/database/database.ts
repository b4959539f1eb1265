import type { ControlledTransaction, Kysely, RawBuilder } from 'kysely';
import type { Revision } from './revision.ts';
import type { Tables } from './tables.ts';
import { OperatorError } from '../operator-error.ts';

export type Engine = 'sqlite' | 'postgres';

/** The server that runs a statement: any that is up to date; the primary, or any while it is down (`known`). */
export type ReadSource = 'any' | 'known' | 'primary';

/** The person on whose behalf a command changes the database. */
export interface Operator {
  /** The operating system's user and the machine: `alice@host`. */
  readonly name: string;
  readonly auditRetentionDays: number;
  /** The number of releases whose catalogs SQLite keeps. */
  readonly keepReleases?: number;
}

/** A database of either engine, or a transaction on it. */
export interface Database {
  readonly engine: Engine;
  readonly kysely: Kysely<Tables>;
  readonly operator?: Operator;
  /**
   * Runs one statement for each list of parameters, synchronously and in the open transaction. SQLite only: a promise per
   * row takes as long as writing the row.
   */
  readonly runEach?: (text: string, parameterLists: Iterable<readonly unknown[]>) => void;
  /** PostgreSQL only, on databases opened for a command: COPY takes half the time of an insert. */
  readonly copyRows?: CopyRows;
  /** Absent on PostgreSQL, and on drafts. */
  readonly catalogFiles?: CatalogFiles;
}

/** The files beside a database of SQLite: each is a catalog that never changes again once the log names it. */
export interface CatalogFiles {
  /** Of the database, the file with the log. */
  readonly path: string;
  /** Attaches the catalog that the log's last release or reset names, not in a transaction. Returns its name, or null. */
  attachCurrent(): string | null;
}

/**
 * Inserts new rows, which are lists of strings, integers, bytes (`Uint8Array`) and nulls in the order of `columns`, and
 * reads them no faster than the server accepts them. The name of the table has its schema: `catalog.contracts`.
 *
 * @param onSent called once all rows are sent, while the server can still be writing them.
 * @throws the server's error, for example on a duplicate key.
 */
export type CopyRows = (
  kysely: Kysely<Tables>,
  table: string,
  columns: readonly string[],
  rows: Iterable<readonly unknown[]>,
  onSent?: () => void,
) => Promise<void>;

/** The values for a statement's placeholders, by name. */
export type ParameterValues = Readonly<Record<string, string | number | null | readonly (string | number)[]>>;

/** A query, with a statement key that determines its SQL text. */
export interface Query<Row> {
  readonly statementKey: string;
  /** All columns of its rows, in the order in which it selects them. */
  readonly columns: readonly (keyof Row & string)[];
  readonly build: () => RawBuilder<Row>;
  readonly values: ParameterValues;
}

/** An open database. The code that opened it must close it. */
export interface OpenDatabase extends Database, AsyncDisposable {
  /**
   * Runs a statement that is built once per statement key and cached (see `statement.ts`). SQLite returns
   * synchronously; PostgreSQL may read from a replica.
   *
   * @param build must depend on `statementKey` alone. A result column named `revision` must be that of `access.events`.
   * @param source `known` or `primary` if a replica will not do.
   */
  run<Row>(
    statementKey: string,
    build: () => RawBuilder<Row>,
    values: ParameterValues,
    source?: ReadSource,
  ): Row[] | Promise<Row[]>;
  /** Like `run`, for many texts that are sent on as bytes: a string for each would cost more than reading it. */
  readTexts<Row extends { revision: Revision }>(
    statementKey: string,
    build: () => TextsQuery<Row>,
    values: ParameterValues,
    source?: ReadSource,
  ): Promise<Texts & { readonly head: Row }>;
  /** A serving process reads it twice a second, which also checks that the database is up. */
  readRevision(): Promise<Revision>;
  /** Call it if a client has seen newer data than `run` returned: the primary is read until a replica is current. */
  bypassReplicas(): void;
  /** The primary first. Absent on SQLite and on databases opened for a command. */
  readonly servers?: () => readonly ServerState[];
  close(): Promise<void>;
}

export interface TextsToRead {
  /** Selects `ordinal`, the order of the texts and of their `key`, and `text` and `changes_at`; see `Texts`. */
  readonly texts: RawBuilder<unknown>;
  /** Whether SQLite's cross join returns them in this order by itself. Sorting would copy all texts. */
  readonly isInOrder?: boolean;
  /** PostgreSQL only: the numbers of parts, in order, each of which `texts` reads as `parts.part`; one part without them. */
  readonly parts?: RawBuilder<unknown>;
}

/** Texts, and a row that the same statement reads. */
export interface TextsQuery<Row> extends TextsToRead {
  readonly head: RawBuilder<Row>;
}

/** Texts as UTF-8, each followed by a line feed. */
export interface Texts {
  readonly count: number;
  readonly bytes: Uint8Array;
  /** The key of the last text; null if there are none. */
  readonly last_key: string | null;
  /** When one of the texts next changes by itself; null for never. */
  readonly changes_at: string | null;
}

/** A server of PostgreSQL, as this process sees it. */
export interface ServerState {
  /** `primary`, or a replica's host and port. */
  readonly name: string;
  readonly isReplica: boolean;
  /** Whether reads from `any` source go to this server. The primary takes them if no replica is current. */
  readonly isInUse: boolean;
  /** Age of the oldest change that a replica lacks, in milliseconds: 0 if none, null if it does not respond. */
  readonly lagMs: number | null;
  readonly connections: PoolState;
}

/** A connection pool: the numbers of connections, of requests that wait for one, and the limit. */
export interface PoolState {
  readonly isCircuitClosed: boolean;
  readonly total: number;
  readonly idle: number;
  readonly waiting: number;
  readonly max: number;
}

/**
 * Runs `work` in one transaction: everything commits, or nothing. On SQLite it locks each file at the first write to
 * it: start with a write, so that nothing read before it can be stale.
 */
export async function inTransaction<T>(database: Database, work: (transaction: Database) => Promise<T>): Promise<T> {
  const transaction = await database.kysely.startTransaction().execute();
  try {
    const result = await work({ ...database, kysely: transaction });
    await transaction.commit().execute();
    return result;
  } finally {
    await rollBack(transaction);
  }
}

/** Runs read-only `work` on one snapshot, taken by its first statement. */
export async function inSnapshot<T>(database: Database, work: (snapshot: Database) => Promise<T>): Promise<T> {
  const begun = database.kysely.startTransaction();
  // Every SQLite transaction reads from one snapshot.
  const transaction = await begun.setIsolationLevel('repeatable read').setAccessMode('read only').execute();
  try {
    return await work({ ...database, kysely: transaction });
  } finally {
    await rollBack(transaction);
  }
}

/**
 * Rolls back, unless it was committed. Does not throw, so that callers report their own error: SQLite rolls back by
 * itself when the disk is full, PostgreSQL when the connection is lost.
 */
export async function rollBack(transaction: ControlledTransaction<Tables>): Promise<void> {
  if (transaction.isCommitted || transaction.isRolledBack) return;
  await transaction
    .rollback()
    .execute()
    .catch(() => undefined);
}

/** The database cannot be opened or reached, or belongs to another service. The message says what to do. */
export class DatabaseUnavailableError extends OperatorError {}

/** The database is missing or empty, and this command does not create one. */
export class NoDatabaseError extends OperatorError {
  /** @param what such as `there is no database data/pds.sqlite yet`. */
  constructor(what: string) {
    super(
      `${what} (PDS_DATABASE_URL). If that is right, create one with "pds import DIR" or "pds migrate". Nothing was created`,
    );
  }
}

/** The database is up but overloaded. */
export class DatabaseBusyError extends Error {}

/** The schema is older or newer than this version of the service. The message says what to do. */
export class SchemaVersionError extends OperatorError {}
