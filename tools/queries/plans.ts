import pg from 'pg';
import { sql } from 'kysely';
import type { OpenDatabase } from '../../src/database/database.ts';
import type { ServingStatement } from './serving-statements.ts';

/** A statement with its plan, one line per step. */
export type PlannedStatement = ServingStatement & { readonly plan: readonly string[] };

/** SQLite's plans. They depend only on the schema: the service gathers no statistics there. */
export async function planOnSqlite(
  { kysely }: OpenDatabase,
  statements: readonly ServingStatement[],
): Promise<PlannedStatement[]> {
  const planned: PlannedStatement[] = [];
  for (const statement of statements) {
    const { rows } = await sql
      .raw<{ id: number; parent: number; detail: string }>(`explain query plan ${statement.text}`)
      .execute(kysely);
    const depths = new Map<number, number>();
    const plan = rows.map(({ id, parent, detail }) => {
      const depth = (depths.get(parent) ?? -1) + 1;
      depths.set(id, depth);
      return `${'  '.repeat(depth)}${detail}`;
    });
    planned.push({ ...statement, plan });
  }
  return planned;
}

/** PostgreSQL's generic plans, made without parameter values. Requires PostgreSQL 16. */
export async function planOnPostgres(
  url: string,
  statements: readonly ServingStatement[],
): Promise<PlannedStatement[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const planned: PlannedStatement[] = [];
    for (const statement of statements) {
      const { rows } = await client.query<{ 'QUERY PLAN': string }>(
        `explain (generic_plan, costs off) ${statement.text}`,
      );
      planned.push({ ...statement, plan: rows.map((row) => row['QUERY PLAN']) });
    }
    return planned;
  } finally {
    await client.end();
  }
}
