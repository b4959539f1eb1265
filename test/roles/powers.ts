import { sql } from 'kysely';
import type { OpenDatabase } from '../../src/database/database.ts';

const INSUFFICIENT_PRIVILEGE = '42501';

/** Whether a role is permitted to run a statement, whose effect is rolled back. */
export async function mayRun({ kysely }: OpenDatabase, statement: string): Promise<boolean> {
  class Undo extends Error {}
  return kysely
    .transaction()
    .execute(async (transaction) => {
      await sql.raw(statement).execute(transaction);
      throw new Undo();
    })
    .catch((error: unknown) => {
      // Missing values are detected only after the permission check.
      if (error instanceof Undo || (error as { code?: string }).code === '23502') return true;
      if ((error as { code?: string }).code === INSUFFICIENT_PRIVILEGE) return false;
      throw error;
    });
}

const ATTEMPTS = {
  select: (table: string) => `select from ${table} limit 1`,
  insert: (table: string) => `insert into ${table} default values`,
  update: (table: string, column: string) => `update ${table} set ${column} = ${column} where false`,
  delete: (table: string) => `delete from ${table} where false`,
  truncate: (table: string) => `truncate ${table} cascade`,
  alter: (table: string) => `alter table ${table} add column more text`,
  drop: (table: string) => `drop table ${table} cascade`,
};

/** The permissions of a role on each table, determined by trying. */
export async function powersOf(database: OpenDatabase, asOwner: OpenDatabase): Promise<Record<string, string>> {
  const { rows } = await sql<{ name: string; column: string }>`
    select relnamespace::regnamespace || '.' || relname as name,
      (select attname from pg_attribute where attrelid = pg_class.oid and attnum > 0 and attidentity = ''
        and not attisdropped limit 1) as column
    from pg_catalog.pg_class where relkind = 'r' and relnamespace in ('catalog'::regnamespace, 'access'::regnamespace)
    order by 1`.execute(asOwner.kysely);
  const powers: Record<string, string> = {};
  for (const { name: table, column } of rows) {
    const held: string[] = [];
    for (const [power, statementOf] of Object.entries(ATTEMPTS)) {
      if (await mayRun(database, statementOf(table, column))) held.push(power);
    }
    powers[table] = held.join(' ');
  }
  return powers;
}
