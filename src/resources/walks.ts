import { sql, type Expression, type RawBuilder } from 'kysely';
import type { Engine } from '../database/database.ts';
import { limitSlot } from '../database/statement.ts';

/** Rows of one column, `position`, in order: as many as the slot `rows` says. */
export type Positions = RawBuilder<{ position: unknown }>;

/**
 * One ordered walk for each value, merged: costs what it gives, times the number of values, and
 * not what lies between. `where column in (…) order by position limit …` lets the planner walk
 * all of the table for values that are rare or far.
 *
 * @param values rows of one column, `value`.
 * @param walk the walk for one value; ordered, and cut after as many rows as the slot `rows` says.
 */
export function eachMerged(
  engine: Engine,
  values: RawBuilder<{ value: unknown }>,
  walk: (value: Expression<unknown>) => Positions,
): Positions {
  const inner = walk(sql.ref('one.value'));
  // SQLite has no lateral join, but a table-valued function may take what stands before it.
  const merged =
    engine === 'postgres'
      ? sql`select walked.position from (${values}) as one cross join lateral (${inner}) as walked`
      : sql`select walked.value as position from (${values}) as one
          cross join json_each((select json_group_array(position) from (${inner}))) as walked`;
  return sql<{ position: unknown }>`${merged} order by position limit ${limitSlot('rows')}`;
}

/** Several walks as one; what is in more than one of them counts once. */
export function unionOf(walks: readonly Positions[]): Positions {
  const [only] = walks;
  if (walks.length === 1 && only !== undefined) return only;
  const union = sql.join(
    walks.map((walk) => sql`select position from (${walk}) as part`),
    sql` union `,
  );
  return sql<{
    position: unknown;
  }>`select position from (${union}) as parts order by position limit ${limitSlot('rows')}`;
}
