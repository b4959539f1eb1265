import type { Database, Engine } from '../database.ts';

/** One step of the schema, forward only, in one transaction with its row in the ledger. */
export interface Migration {
  readonly number: number;
  readonly name: string;
  /** The statements, in order. PostgreSQL's must not take locks for long that readers would wait for. */
  statements(engine: Engine): string[];
}

/** Brings the tables of the version before up. */
export interface Upgrade extends Omit<Migration, 'statements'> {
  /** The numbers that the version before can have left in the ledger. */
  readonly from: readonly number[];
  /** @throws SchemaVersionError if the stored rows do not fit the new tables. */
  check(transaction: Database): Promise<void>;
  /** @param applied the number in the ledger. */
  statements(engine: Engine, applied: number): string[];
}

/** The two groups of tables: a schema each on PostgreSQL, a file each on SQLite. */
export type TableGroup = 'catalog' | 'access';

/** How a group of tables is created, and how it is brought up from earlier versions. */
export interface GroupSchema {
  /** Creates the tables of an empty database. */
  readonly creation: Migration;
  /** Ends with the schema that `creation` creates, and has its number. Null if the version before had that schema. */
  readonly upgrade: Upgrade | null;
  /**
   * The oldest number whose servers can use the current schema: that of the version before, since upgrades begin with the
   * schema. Its servers continue to work if a step only changes what they do not read.
   */
  readonly oldestServed: number;
}

/**
 * The type of text that is compared or ordered: bytewise on both engines. PostgreSQL's default collation depends on the
 * machine that created the database.
 */
export function orderedText(engine: Engine): string {
  return engine === 'postgres' ? 'text collate "C"' : 'text';
}

/** A `create index` statement. SQLite puts the schema before the index's name, PostgreSQL before the table's. */
export function createIndex(engine: Engine, group: TableGroup, table: string, columns: string[]): string {
  const name = `${table}_by_${columns.join('_')}`;
  const [indexSchema, tableSchema] = engine === 'sqlite' ? [`${group}.`, ''] : ['', `${group}.`];
  return `create index ${indexSchema}${name} on ${tableSchema}${table} (${columns.join(', ')})`;
}
