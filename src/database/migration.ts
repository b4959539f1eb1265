import type { Database, Engine } from './database.ts';

/** How far a long step has come. */
export interface MigrationProgress {
  readonly done: number;
  readonly total: number;
  /** Such as `Filling the index of contracts`. */
  readonly what: string;
}

export type OnMigrationProgress = (progress: MigrationProgress) => void;

/** One step of the schema, forward only. A published migration is never edited. */
export interface Migration {
  /** Counts from 1 in each group, without gaps. */
  readonly number: number;
  readonly name: string;
  /** Servers of the version before go on working on the schema after this step: it only adds what they do not look at. */
  readonly isAdditive?: true;
  /**
   * Removes what servers of the version before need. Runs at once on an empty database, otherwise only with
   * `pds migrate --finish`. Deferred migrations come last: one that is not deferred, after it, makes it run too.
   */
  readonly isDeferred?: true;
  /** The statements, in order; they run in one transaction with the migration's row. */
  statements?(engine: Engine): string[];
  /**
   * Work on the rows, after the statements and in their transaction. The import lock is held, and readers continue: no
   * statement here may take a lock that they would wait for.
   */
  run?(transaction: Database, onProgress: OnMigrationProgress): Promise<void>;
}

/** The two groups of tables: a schema each on PostgreSQL, a file each on SQLite. */
export type TableGroup = 'catalog' | 'access';

/**
 * The type of a text that is compared or ordered: bytewise on both engines.
 * PostgreSQL's default collation is that of the machine it was made on.
 */
export function orderedText(engine: Engine): string {
  return engine === 'postgres' ? 'text collate "C"' : 'text';
}

/** The type of a key that ties a record to its search entry; SQLite knows it as its own row number only by this name. */
export function rowNumber(engine: Engine): string {
  return engine === 'sqlite' ? 'integer' : 'bigint';
}

/**
 * `create index` names the schema before the index on SQLite, before the table on PostgreSQL.
 *
 * @param where the condition of an index on a part of the rows.
 */
export function createIndex(
  engine: Engine,
  group: TableGroup,
  table: string,
  columns: string[],
  where?: string,
): string {
  const name = `${table}_by_${columns.join('_')}`;
  const [indexSchema, tableSchema] = engine === 'sqlite' ? [`${group}.`, ''] : ['', `${group}.`];
  const condition = where === undefined ? '' : ` where ${where}`;
  return `create index ${indexSchema}${name} on ${tableSchema}${table} (${columns.join(', ')})${condition}`;
}
