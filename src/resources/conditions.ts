import { sql, type RawBuilder, type SqlBool } from 'kysely';

export type Condition = RawBuilder<SqlBool>;

/** True where all are; of none, true. */
export function allOf(conditions: readonly (Condition | null)[]): Condition {
  const given = conditions.filter((condition) => condition !== null);
  return given.length === 0 ? sql<SqlBool>`1 = 1` : sql<SqlBool>`(${sql.join(given, sql` and `)})`;
}

/** The condition for a value that was given; none for one that was not. */
export function given<T>(value: T | null | undefined, condition: (value: T) => Condition | null): Condition | null {
  return value === undefined || value === null ? null : condition(value);
}

/** True where one of them is. */
export function anyOf(conditions: readonly Condition[]): Condition {
  return sql<SqlBool>`(${sql.join([...conditions], sql` or `)})`;
}

/**
 * True if a subquery finds a row, looked up for each row that it is asked for.
 *
 * Not `exists` or a join: PostgreSQL may begin with all that the subquery finds, again for each row of the other side,
 * since its generic plans expect one row. A count of 25,000 solicitations took 5 s that way.
 *
 * @param rows one column that is never null; rows after the first are not read.
 */
export function isFound(rows: RawBuilder<unknown>): Condition {
  return sql<SqlBool>`(${rows} limit 1) is not null`;
}
