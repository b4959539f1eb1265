import { hash } from 'node:crypto';
import { sql, type Expression, type Kysely, type RawBuilder, type SqlBool } from 'kysely';
import { LRUCache } from 'lru-cache';
import type { Engine } from './database.ts';
import type { Tables } from './tables.ts';

/** Statements that are kept. A server asks in fewer shapes than this; each is kept by every connection of PostgreSQL too. */
const MOST_STATEMENTS = 500;

/** Stands in a statement where a value comes in each time that it runs. */
class Slot {
  readonly name: string;

  constructor(name: string) {
    this.name = name;
  }
}

/** A place for the value of this name. Lists go in as one value; see {@link listSlot}. */
export function slot<T = unknown>(name: string): RawBuilder<T> {
  return sql<T>`${new Slot(name)}`;
}

/**
 * A place for a number of rows, after `limit`. SQLite takes a bare one as a reason to plan the
 * statement anew each time that it runs, which takes twice as long as running it.
 */
export function limitSlot(name: string): RawBuilder<number> {
  return sql<number>`cast(${slot(name)} as bigint)`;
}

/** The values of a list as a table with the columns `value`, and `place` in the list. */
export function listedKeys(engine: Engine, name: string, type: 'text' | 'bigint', alias: string): RawBuilder<unknown> {
  return engine === 'postgres'
    ? sql`unnest(${slot(name)}::${sql.raw(type)}[]) with ordinality as ${sql.ref(alias)} (value, place)`
    : sql`(select value, key as place from json_each(${slot(name)})) as ${sql.ref(alias)}`;
}

/** The texts of all rows of a subquery that is ordered by `place`, joined with commas. */
export function joinedTexts(engine: Engine, text: string, place: string): RawBuilder<string | null> {
  // SQLite keeps the order of a subquery's rows, and to sort the texts again takes a fifth of the statement.
  return engine === 'postgres'
    ? sql<string | null>`string_agg(${sql.ref(text)}, ',' order by ${sql.ref(place)})`
    : sql<string | null>`group_concat(${sql.ref(text)}, ',')`;
}

/** A JSON list of lists as a table: each element of the inner lists is a column of this name and type. */
export function listedRows(
  engine: Engine,
  name: string,
  columns: Readonly<Record<string, 'text' | 'bigint'>>,
  alias: string,
): RawBuilder<unknown> {
  const elements =
    engine === 'postgres' ? sql`jsonb_array_elements(${slot(name)}::jsonb)` : sql`json_each(${slot(name)})`;
  // A text without a cast: SQLite compares one that has a type to a column without the column's index.
  const values = Object.entries(columns).map(([column, type], index) => {
    const value = sql`value ->> ${sql.lit(index)}`;
    return sql`${type === 'text' ? value : sql`cast(${value} as bigint)`} as ${sql.ref(column)}`;
  });
  return sql`(select ${sql.join(values)} from ${elements}) as ${sql.ref(alias)}`;
}

/**
 * `column = value`, only ever looked up by an index. PostgreSQL may join by hash on a plain equality: it then read the
 * whole index, since it cannot know how few rows a range has.
 */
export function isLookedUp(engine: Engine, column: string, value: string): RawBuilder<SqlBool> {
  return engine === 'postgres'
    ? sql<SqlBool>`${sql.ref(column)} = any(array[${sql.ref(value)}])`
    : sql<SqlBool>`${sql.ref(column)} = ${sql.ref(value)}`;
}

/** `column in (the list of this name)`. */
export function isInList(engine: Engine, column: Expression<unknown>, name: string): RawBuilder<SqlBool> {
  return engine === 'postgres'
    ? sql<SqlBool>`${column} = any(${slot(name)}::text[])`
    : sql<SqlBool>`${column} in (select value from json_each(${slot(name)}))`;
}

/** What `limitSlot` keeps out. */
const BARE_LIMIT = /\blimit\s+(\?|\$\d)/i;

/** What the slots of a statement are filled with. */
export type SlotValues = Readonly<Record<string, string | number | null | readonly (string | number)[]>>;

/** SQL that was made once, to run many times. */
export interface Statement {
  /** Unique among statements, by what it says: PostgreSQL keeps its plan under this name. */
  readonly name: string;
  readonly text: string;
  readonly slots: readonly string[];
}

/**
 * Statements by their shape: all that decides the text of one, and nothing of the values that it
 * runs with. Building and compiling a statement costs several times what running it does.
 */
export class StatementCache {
  readonly #statements = new LRUCache<string, Statement>({ max: MOST_STATEMENTS });

  /**
   * @param build must depend on `shape` alone.
   */
  get(kysely: Kysely<Tables>, shape: string, build: () => RawBuilder<unknown>): Statement {
    const kept = this.#statements.get(shape);
    if (kept !== undefined) return kept;
    const { sql: text, parameters } = build().compile(kysely);
    if (BARE_LIMIT.test(text)) throw new Error(`a number after limit that is no limitSlot: ${text}`);
    const slots = parameters.map((parameter) => {
      if (!(parameter instanceof Slot)) throw new Error(`a value in a prepared statement: ${text}`);
      return parameter.name;
    });
    const statement = { name: `pds_${hash('sha256', text, 'hex').slice(0, 24)}`, text, slots };
    this.#statements.set(shape, statement);
    return statement;
  }
}

/** The values in the order of a statement's slots, in the form that the engine takes. */
export function bindSlots(engine: Engine, { slots }: Statement, values: SlotValues): unknown[] {
  return slots.map((name) => {
    const value = values[name];
    if (value === undefined) throw new Error(`no value for "${name}"`);
    return engine === 'sqlite' && typeof value === 'object' && value !== null ? JSON.stringify(value) : value;
  });
}
