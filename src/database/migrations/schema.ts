import type { Engine } from '../database.ts';

/** The two groups of tables: a schema each on PostgreSQL, a file each on SQLite. */
export type TableGroup = 'catalog' | 'access';

export interface GroupSchema {
  /** The number in the ledger: each change of this group's tables gets a new one. */
  readonly number: number;
  /** The name of the first migration. */
  readonly name: string;
  readonly create: (engine: Engine) => string[];
  /** Null if the version before has the same tables. */
  readonly upgrade: Upgrade | null;
  /** The oldest number whose servers can use the schema: that of the version before, since upgrades begin with it. */
  readonly oldestServed: number;
}

/** Brings the tables of the version before to what `create` creates. */
interface Upgrade {
  readonly name: string;
  /** The number that the version before left in the ledger. */
  readonly from: number;
  /** In order. PostgreSQL's must not hold locks for long that readers wait for. */
  statements(engine: Engine): string[];
}

/** The types that differ. Ordered text is compared bytewise: PostgreSQL's default depends on the machine. */
const TYPES: Readonly<Record<Engine, Readonly<Record<string, string>>>> = {
  // A primary key of the type `integer` is SQLite's row number, so consecutive positions are beside each other.
  sqlite: { TEXT: 'text', POSITION: 'integer', IDENTITY: 'integer primary key', BYTES: 'blob' },
  postgres: {
    ...{ TEXT: 'text collate "C"', POSITION: 'bigint', BYTES: 'bytea' },
    IDENTITY: 'bigint generated always as identity primary key',
  },
};

/**
 * The statements in a text, separated by semicolons at line ends. `index group.table (columns)` creates an index,
 * with `where …` a partial one.
 */
export function statementsOf(engine: Engine, text: string): string[] {
  const statements = text.trim().replace(/;$/, '').split(/;\n/);
  return statements.map((statement) =>
    statement
      .replaceAll(/\b(?:TEXT|POSITION|IDENTITY|BYTES)\b/g, (type) => TYPES[engine][type] ?? type)
      .replace(/^\s*index (\w+)\.(\w+) \(([^)]*)\)/, (_, group: string, table: string, columns: string) => {
        const name = `${table}_by_${columns.replaceAll(', ', '_')}`;
        // SQLite puts the schema before the index's name, PostgreSQL before the table's.
        const [indexName, on] = engine === 'sqlite' ? [`${group}.${name}`, table] : [name, `${group}.${table}`];
        return `create index ${indexName} on ${on} (${columns})`;
      })
      .trim(),
  );
}

/** The statement that creates the ledger, the table of the migrations that ran. */
export function ledgerStatement(group: TableGroup): string {
  return `create table if not exists ${group}.migrations (
    number bigint primary key, name text not null, applied_at text not null)`;
}
