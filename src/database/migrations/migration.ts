import type { OnProgress } from '../../progress.ts';
import type { Database, Engine } from '../database.ts';

/** One step of the schema, forward only. A published migration is never edited. */
export interface Migration {
  /** Counts from 1 in each group, without gaps. */
  readonly number: number;
  readonly name: string;
  /** Servers of the previous version continue to work after this step: it only adds things that they do not read. */
  readonly isAdditive?: true;
  /**
   * Removes something that servers of the previous version need. Runs immediately on an empty database, otherwise only
   * with `pds migrate --finish`. Deferred migrations come last: a later migration that is not deferred makes them run
   * too.
   */
  readonly isDeferred?: true;
  /** The statements, in order; they run in one transaction with the migration's row. */
  statements?(engine: Engine): string[];
  /**
   * Changes rows after the statements, in the same transaction. It holds the import lock while readers continue, so its
   * statements must not take locks that readers would wait for.
   */
  run?(transaction: Database, onProgress: OnProgress): Promise<void>;
}

/** The two groups of tables: a schema each on PostgreSQL, a file each on SQLite. */
export type TableGroup = 'catalog' | 'access';

/**
 * The type of text that is compared or ordered: bytewise on both engines. PostgreSQL's default collation depends on the
 * machine that created the database.
 */
export function orderedText(engine: Engine): string {
  return engine === 'postgres' ? 'text collate "C"' : 'text';
}

/**
 * The type of a key that joins a record to its search entry. SQLite makes a column an alias of its rowid only if the
 * type is `integer`.
 */
export function rowNumber(engine: Engine): string {
  return engine === 'sqlite' ? 'integer' : 'bigint';
}

/**
 * A `create index` statement. SQLite puts the schema before the index's name, PostgreSQL before the table's.
 *
 * @param where the condition of a partial index.
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

/** Whether these migrations, by their names, created the tables of an empty database. */
export function haveCreated(migrations: readonly string[]): boolean {
  return migrations.some((name) => name.startsWith('access 1:'));
}
