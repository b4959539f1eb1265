import type { DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import { sql, type Kysely } from 'kysely';
import type { DatabaseConfig } from '../config.ts';
import { byEngine } from '../database/configured.ts';
import type { OpenDatabase } from '../database/database.ts';
import { SqliteConnection } from '../database/sqlite/sqlite-files.ts';
import type { Tables, UsageRow } from '../database/tables.ts';

/** The only thing that a serving process writes: request counts. */
export interface UsageStore {
  /**
   * Adds these counts to the stored ones, all or none.
   *
   * @throws if none were added. If PostgreSQL's connection is lost during the commit, they may have been: decision 22.
   */
  add(rows: readonly UsageRow[]): Promise<void>;
  /** Deletes the oldest day before this one, since deleting all at once could take long. False if there was none. */
  deleteOneDayBefore(day: string): Promise<boolean>;
  close(): void;
}

/** PostgreSQL reuses the connections to the primary; that of SQLite is read-only, so the store opens another. */
export function openUsageStore(config: DatabaseConfig, { kysely }: OpenDatabase): UsageStore {
  return byEngine(config, {
    sqlite: ({ path }) => sqliteUsageStore(path),
    postgres: () => postgresUsageStore(kysely),
  });
}

const KEY = ['day', 'partner_id', 'key_id', 'endpoint'] as const;
export const COUNTS = ['requests', 'records', 'limited', 'failed'] as const;
const COLUMNS = [...KEY, ...COUNTS].join(', ');

const ADD_ON_CONFLICT = `on conflict (${KEY.join(', ')}) do update set ${COUNTS.map(
  (column) => `${column} = usage.${column} + excluded.${column}`,
).join(', ')}`;

/** For a connection to the database's file alone, so without a schema name. */
export const SQLITE_USAGE_STATEMENTS = {
  add: `insert into usage (${COLUMNS}) values (?, ?, ?, ?, ?, ?, ?, ?) ${ADD_ON_CONFLICT}`,
  deleteOneDay: 'delete from usage where day = (select min(day) from usage) and day < ?',
} as const;

/**
 * A separate connection to the database's file. It never waits for a lock: SQLite calls block the event loop, and so every
 * request. If another process is writing, the caller tries again later.
 */
function sqliteUsageStore(path: string): UsageStore {
  let connected: DatabaseSync | null = null;
  const close = (): void => {
    connected?.close();
    connected = null;
  };
  const write = <T>(work: (connection: DatabaseSync) => T): T => {
    const connection = (connected ??= connectTo(path));
    try {
      connection.exec('begin immediate');
      const result = work(connection);
      connection.exec('commit');
      return result;
    } catch (error) {
      // Ends the transaction and reconnects next time: the cause, such as an unwritable file, may be gone.
      close();
      throw error;
    }
  };
  return {
    async add(rows) {
      write((connection) => {
        const statement = connection.prepare(SQLITE_USAGE_STATEMENTS.add);
        for (const row of rows) statement.run(...valuesOf(row));
      });
    },
    async deleteOneDayBefore(day) {
      return write((connection) => connection.prepare(SQLITE_USAGE_STATEMENTS.deleteOneDay).run(day).changes > 0);
    },
    close,
  };
}

function connectTo(path: string): DatabaseSync {
  const connection = new SqliteConnection(`${pathToFileURL(path).href}?mode=rw`, { timeout: 0 });
  // Does not wait for the disk at each commit: a power cut can lose some counts, a killed process none.
  connection.exec('pragma synchronous = normal');
  return connection;
}

function postgresUsageStore(kysely: Kysely<Tables>): UsageStore {
  return {
    async add(rows) {
      const tuples = rows.map((row) => sql`(${sql.join(valuesOf(row))})`);
      await sql`insert into access.usage (${sql.raw(COLUMNS)}) values ${sql.join(tuples)}
        ${sql.raw(ADD_ON_CONFLICT)}`.execute(kysely);
    },
    async deleteOneDayBefore(day) {
      const { numAffectedRows } = await sql`delete from access.usage
        where day = (select min(day) from access.usage) and day < ${day}`.execute(kysely);
      return (numAffectedRows ?? 0n) > 0n;
    },
    // The pool belongs to the database.
    close: () => undefined,
  };
}

function valuesOf(row: UsageRow): (string | number)[] {
  return [...KEY, ...COUNTS].map((column) => row[column]);
}
