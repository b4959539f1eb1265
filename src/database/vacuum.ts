import { sql } from 'kysely';
import type { OpenDatabase } from './database.ts';

/** Below this number of changed records, or this share of a table, the planner's statistics remain good enough. */
const CHANGES_WORTH_ANALYZING = 1_000;
const PART_WORTH_ANALYZING = 0.01;

const LEFT_TO_AUTOVACUUM =
  "this role has no privilege to vacuum and analyze the tables: until PostgreSQL's autovacuum does so, " +
  'searches may take longer';

/**
 * Refreshes the planner's statistics on PostgreSQL after a number of changes, and lets counts use index-only scans. Not
 * needed for correctness: it does not throw, and nothing depends on its success. Does nothing on SQLite.
 *
 * @returns a message for the operator if this role cannot do it; null otherwise.
 */
export async function vacuum({ engine, kysely }: OpenDatabase, changes: number): Promise<string | null> {
  if (engine === 'sqlite' || changes < CHANGES_WORTH_ANALYZING) return null;
  try {
    // Writers own no tables, and can be granted the privilege only from PostgreSQL 17 on.
    const { rows } = await sql<{ name: string; records: number; may: boolean }>`
      select relname as name, reltuples as records, case when current_setting('server_version_num')::int >= 170000
        then has_table_privilege(oid, 'MAINTAIN') else pg_has_role(relowner, 'USAGE') end as may
      from pg_catalog.pg_class where relnamespace = 'catalog'::regnamespace and relkind = 'r'`.execute(kysely);
    if (changes < PART_WORTH_ANALYZING * Math.max(...rows.map(({ records }) => records))) return null;
    for (const { name, may } of rows) {
      if (may) await sql`vacuum (analyze) ${sql.table(`catalog.${name}`)}`.execute(kysely);
    }
    return rows.every(({ may }) => may) ? null : LEFT_TO_AUTOVACUUM;
  } catch {
    return null;
  }
}
