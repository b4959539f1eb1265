import { sql, type Expression, type RawBuilder, type SqlBool } from 'kysely';
import type { Engine } from './database.ts';

/**
 * `column in (values)` with all values in one parameter, so that the statement's text does not depend on their number.
 */
export function isOneOf(
  engine: Engine,
  column: Expression<unknown>,
  values: readonly string[] | readonly number[],
): RawBuilder<SqlBool> {
  const type = sql.raw(typeof values[0] === 'number' ? 'bigint[]' : 'text[]');
  return engine === 'postgres'
    ? sql<SqlBool>`${column} = any(${values}::${type})`
    : sql<SqlBool>`${column} in (select value from json_each(${JSON.stringify(values)}))`;
}

/** The elements of a JSON list as a table with the column `value`. */
export function jsonElements(engine: Engine, list: string, alias: string): RawBuilder<unknown> {
  return engine === 'postgres'
    ? sql`jsonb_array_elements(${list}::jsonb) as ${sql.ref(alias)} (value)`
    : sql`json_each(${list}) as ${sql.ref(alias)}`;
}
