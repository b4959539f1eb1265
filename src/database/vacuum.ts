import { sql } from 'kysely';
import type { OpenDatabase } from './database.ts';
import { SQLITE_CORRUPT, SQLITE_FULL, sqliteCode } from './sqlite/sqlite-files.ts';

/** Below this number of changed records, or this share of a table, the planner's statistics remain good enough. */
const CHANGES_WORTH_ANALYZING = 1_000;
const PART_WORTH_ANALYZING = 0.01;

const LEFT_TO_AUTOVACUUM =
  "this role has no privilege to vacuum and analyze the tables: until PostgreSQL's autovacuum does so, " +
  'searches may take longer';

/**
 * Refreshes the planner's statistics, and shrinks SQLite's WAL file. On PostgreSQL, vacuuming also lets counts use
 * index-only scans. Not needed for correctness: if it fails, the import still succeeds.
 *
 * @param changes the number of records written.
 * @returns a message for the operator if it could not be done; null otherwise.
 */
export async function vacuum(database: OpenDatabase, changes: number): Promise<string | null> {
  if (database.engine === 'sqlite') return emptySqliteLog(database);
  const isVacuumed = await vacuumPostgres(database, changes).catch(() => true);
  return isVacuumed ? null : LEFT_TO_AUTOVACUUM;
}

async function emptySqliteLog({ kysely, emptyLog }: OpenDatabase): Promise<string | null> {
  try {
    await sql`pragma catalog.optimize`.execute(kysely);
    return emptyLog?.() === false
      ? await describeKeptLog(kysely, 'a program was reading an older state of it for seconds. End that program')
      : null;
  } catch (error) {
    const { message } = error as Error;
    if (sqliteCode(error) === SQLITE_CORRUPT) {
      return (
        `warning: ${await readCatalogFile(kysely)} is damaged (${message}), also if this import read nothing that is: run ` +
        '"pds check --full", and restore a backup'
      );
    }
    const isFull = sqliteCode(error) === SQLITE_FULL;
    return describeKeptLog(kysely, isFull ? 'no space is left on the disk. Free some' : message);
  }
}

async function readCatalogFile(kysely: OpenDatabase['kysely']): Promise<string> {
  const { rows } = await sql<{ file: string }>`
    select file from pragma_database_list where name = 'catalog'`.execute(kysely);
  return rows[0]?.file ?? '';
}

async function describeKeptLog(kysely: OpenDatabase['kysely'], reason: string): Promise<string> {
  const file = await readCatalogFile(kysely);
  return (
    `warning: the import is complete, but ${file}-wal could not be emptied into ${file}: ${reason}, and run the ` +
    'same import again, which tries again. Until then that log takes room, and reading is slower; do not delete it, since it holds records'
  );
}

/** False if this role lacks the privilege: writers own no tables, and can be granted it only from PostgreSQL 17 on. */
async function vacuumPostgres({ kysely }: OpenDatabase, changes: number): Promise<boolean> {
  if (changes < CHANGES_WORTH_ANALYZING) return true;
  const { rows } = await sql<{ name: string; records: number; may: boolean }>`
    select relname as name, reltuples as records, case when current_setting('server_version_num')::int >= 170000
      then has_table_privilege(oid, 'MAINTAIN') else pg_has_role(relowner, 'USAGE') end as may
    from pg_catalog.pg_class where relnamespace = 'catalog'::regnamespace and relkind = 'r'`.execute(kysely);
  if (changes < PART_WORTH_ANALYZING * Math.max(...rows.map(({ records }) => records))) return true;
  for (const { name, may } of rows) {
    if (may) await sql`vacuum (analyze) ${sql.table(`catalog.${name}`)}`.execute(kysely);
  }
  return rows.every(({ may }) => may);
}
