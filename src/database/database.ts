import type { ControlledTransaction, Kysely, RawBuilder } from 'kysely';
import type { DatabaseConfig } from '../config.ts';
import type { Operator } from './audit.ts';
import { openPostgresForCommands, openPostgresForServing } from './postgres.ts';
import type { Revision } from './revision.ts';
import { openSqlite } from './sqlite.ts';
import type { SlotValues } from './statement.ts';
import type { Tables } from './tables.ts';

export type Engine = 'sqlite' | 'postgres';

/** Where a statement may be answered: by whichever server is up to date, or by the one that is written to. */
export type ReadSource = 'any' | 'primary';

/** A database of either engine, or a transaction on it. */
export interface Database {
  readonly engine: Engine;
  readonly kysely: Kysely<Tables>;
  /** Whose changes these are, for the audit trail. */
  readonly operator?: Operator;
  /**
   * Runs one statement for each list of parameters, at once and within the transaction that is
   * open, if one is. SQLite's only: a promise for each row takes as long as writing it.
   */
  readonly runEach?: (text: string, parameterLists: Iterable<readonly unknown[]>) => void;
  /** Inserts many new rows. PostgreSQL's only, when opened for a command: COPY takes half the time of an insert. */
  readonly copyRows?: CopyRows;
}

/**
 * Inserts new rows, reading `rows` no faster than the server takes them.
 *
 * @param kysely the transaction to insert within.
 * @param table with its schema: `catalog.contracts`.
 * @param rows lists of values in the order of `columns`: strings, whole numbers, bytes (`Uint8Array`) and nulls.
 * @throws the server's error, for instance if a key exists already.
 */
export type CopyRows = (
  kysely: Kysely<Tables>,
  table: string,
  columns: readonly string[],
  rows: Iterable<readonly unknown[]>,
) => Promise<void>;

/** A database that was opened, and has to be closed by who opened it. */
export interface OpenDatabase extends Database {
  /**
   * Runs a statement that is built once for each shape, and kept (see `statement.ts`). SQLite
   * answers at once. PostgreSQL may answer from a replica.
   *
   * @param build must depend on `shape` alone. What it reads as `revision` has to be that of `access.clock`.
   * @param source `primary` where no replica will do.
   */
  run<Row>(
    shape: string,
    build: () => RawBuilder<Row>,
    values: SlotValues,
    source?: ReadSource,
  ): Row[] | Promise<Row[]>;
  /**
   * The revision of `access.clock`: another one after every change of partners, keys or grants, and
   * after every publication. A serving process reads it twice a second, and learns so whether the
   * database is there.
   */
  readRevision(): Promise<Revision>;
  /** What `run` read is older than what a client has seen: lets it read from the primary until a replica has caught up. */
  distrustReplicas(): void;
  /** PostgreSQL's servers as they look from here now, the primary first; none where the database is opened for a command, and on SQLite. */
  readonly servers?: () => readonly ServerState[];
  close(): Promise<void>;
}

/** A server of PostgreSQL, as this process sees it. */
export interface ServerState {
  /** `primary`, or a replica's host and port. */
  readonly name: string;
  readonly isReplica: boolean;
  /** Whether what may be answered by any server is asked of this one: the primary stands in for replicas that are not. */
  readonly isInUse: boolean;
  /** Since when a replica is behind the primary: 0 where it is not, null where it does not answer. */
  readonly lagMs: number | null;
  readonly connections: PoolState;
}

/** What a pool of connections is doing. */
export interface PoolState {
  readonly isUp: boolean;
  readonly total: number;
  readonly idle: number;
  /** Queries that wait for a connection. */
  readonly waiting: number;
  /** How many it may open. */
  readonly most: number;
}

/**
 * Opens a database for reading: SQLite's files read-only, PostgreSQL through pools.
 *
 * @param replicaUrls of PostgreSQL's replicas.
 * @throws DatabaseUnavailableError where SQLite's files cannot be opened.
 */
export function openForServing(config: DatabaseConfig, replicaUrls: readonly string[] = []): OpenDatabase {
  return config.engine === 'sqlite' ? openSqlite(config.path, 'read') : openPostgresForServing(config.url, replicaUrls);
}

/**
 * Opens a database for a command that may write. SQLite's files are made where there are none.
 *
 * @param operator under whose name changes are recorded; without one, nobody's.
 */
export function openForCommands(config: DatabaseConfig, operator?: Operator): OpenDatabase {
  const opened = config.engine === 'sqlite' ? openSqlite(config.path, 'write') : openPostgresForCommands(config.url);
  return operator === undefined ? opened : { ...opened, operator };
}

/**
 * Runs `work` in one transaction: all of it is kept, or nothing.
 *
 * On SQLite the transaction begins without a lock, and takes that of each file with the
 * first write to it: start with a write, so that nothing read before it can be stale.
 */
export async function inTransaction<T>(database: Database, work: (transaction: Database) => Promise<T>): Promise<T> {
  const transaction = await database.kysely.startTransaction().execute();
  try {
    const result = await work({ ...database, kysely: transaction });
    await transaction.commit().execute();
    return result;
  } catch (error) {
    await rollBack(transaction);
    throw error;
  }
}

/** Runs `work`, which only reads, on the database as of one moment: that of its first statement. */
export async function inSnapshot<T>(database: Database, work: (snapshot: Database) => Promise<T>): Promise<T> {
  const begun = database.kysely.startTransaction();
  // On SQLite every transaction reads as of one moment.
  const transaction = await begun.setIsolationLevel('repeatable read').setAccessMode('read only').execute();
  try {
    return await work({ ...database, kysely: transaction });
  } finally {
    await rollBack(transaction);
  }
}

/**
 * Ends a transaction in which something failed. Where this fails too, it is over already: SQLite
 * rolls back by itself when the disk is full, and PostgreSQL when the connection is lost. What is
 * worth telling is the failure before.
 */
export async function rollBack(transaction: ControlledTransaction<Tables>): Promise<void> {
  if (transaction.isCommitted || transaction.isRolledBack) return;
  await transaction
    .rollback()
    .execute()
    .catch(() => undefined);
}
