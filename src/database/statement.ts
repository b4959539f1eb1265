import { hash } from 'node:crypto';
import { sql, type Expression, type Kysely, type RawBuilder, type SqlBool } from 'kysely';
import { LRUCache } from 'lru-cache';
import type { Database, Engine, ParameterValues, TextsToRead } from './database.ts';
import type { Tables } from './tables.ts';

/** A server uses fewer. Each PostgreSQL connection caches them too. */
const MAX_STATEMENTS = 500;

class Parameter {
  readonly name: string;

  constructor(name: string) {
    this.name = name;
  }
}

/** A placeholder for the named value. Lists are bound as one value; see {@link listedKeys} and {@link isInList}. */
export function parameter<T = unknown>(name: string): RawBuilder<T> {
  return sql<T>`${new Parameter(name)}`;
}

/** A placeholder after `limit`: a bare one makes SQLite plan the statement again at each run, which takes longer. */
export function limitParameter(name: string): RawBuilder<number> {
  return sql<number>`cast(${parameter(name)} as bigint)`;
}

/** A list's values as a table with the columns `value` and `ordinal`, the position in the list. */
export function listedKeys(engine: Engine, name: string, type: 'text' | 'bigint', alias: string): RawBuilder<unknown> {
  return engine === 'postgres'
    ? sql`unnest(${parameter(name)}::${sql.raw(type)}[]) with ordinality as ${sql.ref(alias)} (value, ordinal)`
    : sql`(select value, key as ordinal from json_each(${parameter(name)})) as ${sql.ref(alias)}`;
}

/** How many texts PostgreSQL joins to a row. */
const TEXTS_PER_PART = 100;
const partSize = sql.lit(TEXTS_PER_PART);
/** The ordinal of a part's last text. The part's number is the ordinal of its first. */
const lastOfPart = sql`parts.part + ${sql.lit(TEXTS_PER_PART - 1)}`;

/** Whether this number of texts is read in parts. A few would take longer that way. */
export function isInParts(engine: Engine, count: number): boolean {
  return engine === 'postgres' && count > TEXTS_PER_PART;
}

type InParts<Name extends string> = Record<Name, RawBuilder<unknown>> & Pick<TextsToRead, 'parts'>;

/** PostgreSQL's `listedKeys`, in parts; see `TextsToRead`. */
export function keysInParts(name: string, type: 'text' | 'bigint', alias: string): InParts<'keys'> {
  const list = sql`${parameter(name)}::${sql.raw(type)}[]`;
  const keys = sql`unnest((${list})[parts.part : ${lastOfPart}]) with ordinality as ${sql.ref(alias)} (value, ordinal)`;
  return { keys, parts: sql`generate_series(1, cardinality(${list}), ${partSize})` };
}

/** PostgreSQL's range after `between`, in parts; see `TextsToRead`. */
export function rangeInParts(first: string, last: string): InParts<'range'> {
  const to = sql`${parameter(last)}::bigint`;
  const range = sql`parts.part and least(${lastOfPart}, ${to})`;
  return { range, parts: sql`generate_series(${parameter(first)}::bigint, ${to}, ${partSize})` };
}

/** A JSON list of lists as a table: the elements of each inner list become columns of these names and types. */
export function listedRows(
  engine: Engine,
  name: string,
  columns: Readonly<Record<string, 'text' | 'bigint'>>,
  alias: string,
): RawBuilder<unknown> {
  const elements =
    engine === 'postgres' ? sql`jsonb_array_elements(${parameter(name)}::jsonb)` : sql`json_each(${parameter(name)})`;
  // Text is not cast: SQLite does not use a column's index to compare it with a typed text.
  const values = Object.entries(columns).map(([column, type], index) => {
    const value = sql`value ->> ${sql.lit(index)}`;
    return sql`${type === 'text' ? value : sql`cast(${value} as bigint)`} as ${sql.ref(column)}`;
  });
  return sql`(select ${sql.join(values)} from ${elements}) as ${sql.ref(alias)}`;
}

/**
 * `column = value`, always by index lookup. For a plain equality PostgreSQL can choose a hash join, which reads the
 * whole index because the planner cannot know how few rows a range has.
 */
export function isLookedUp(engine: Engine, column: string, value: string): RawBuilder<SqlBool> {
  return engine === 'postgres'
    ? sql<SqlBool>`${sql.ref(column)} = any(array[${sql.ref(value)}])`
    : sql<SqlBool>`${sql.ref(column)} = ${sql.ref(value)}`;
}

/** `column in (the list of this name)`. */
export function isInList(engine: Engine, column: Expression<unknown>, name: string): RawBuilder<SqlBool> {
  return isIn(engine, column, parameter(name), 'text');
}

/** `column in (values)` with all values in one parameter: the statement's text does not depend on their number. */
export function isOneOf(engine: Engine, column: Expression<unknown>, values: readonly string[] | readonly number[]) {
  const list = sql`${engine === 'postgres' ? values : JSON.stringify(values)}`;
  return isIn(engine, column, list, typeof values[0] === 'number' ? 'bigint' : 'text');
}

function isIn(engine: Engine, column: Expression<unknown>, list: RawBuilder<unknown>, type: 'text' | 'bigint') {
  return engine === 'postgres'
    ? sql<SqlBool>`${column} = any(${list}::${sql.raw(type)}[])`
    : sql<SqlBool>`${column} in (select value from json_each(${list}))`;
}

/** The elements of a JSON list as a table with the column `value`. */
export function jsonElements(engine: Engine, list: string, alias: string): RawBuilder<unknown> {
  return engine === 'postgres'
    ? sql`jsonb_array_elements(${list}::jsonb) as ${sql.ref(alias)} (value)`
    : sql`json_each(${list}) as ${sql.ref(alias)}`;
}

/** Detects a bare parameter after `limit`; see `limitParameter`. */
const BARE_LIMIT = /\blimit\s+(\?|\$\d)/i;

interface Statement {
  /** Derived from the text. PostgreSQL caches the prepared statement under this name. */
  readonly name: string;
  readonly text: string;
  readonly parameterNames: readonly string[];
}

/** Compiled statements by statement key: building and compiling one costs several times as much as running it. */
export class StatementCache {
  readonly #statements = new LRUCache<string, Statement>({ max: MAX_STATEMENTS });

  /** @param build must depend on `statementKey` alone. */
  get(kysely: Kysely<Tables>, statementKey: string, build: () => RawBuilder<unknown>): Statement {
    const cached = this.#statements.get(statementKey);
    if (cached !== undefined) return cached;
    const { sql: text, parameters } = build().compile(kysely);
    if (BARE_LIMIT.test(text)) throw new Error(`a number after limit that is no limitParameter: ${text}`);
    const parameterNames = parameters.map((value) => {
      if (!(value instanceof Parameter)) throw new Error(`a value in a prepared statement: ${text}`);
      return value.name;
    });
    const statement = { name: `pds_${hash('sha256', text, 'hex').slice(0, 24)}`, text, parameterNames };
    this.#statements.set(statementKey, statement);
    return statement;
  }
}

/** The values in the order of the statement's placeholders, encoded for the engine. @throws Error if one is missing. */
export function bindParameters(engine: Engine, { parameterNames }: Statement, values: ParameterValues): unknown[] {
  return parameterNames.map((name) => {
    const value = values[name];
    if (value === undefined) throw new Error(`no value for "${name}"`);
    return engine === 'sqlite' && typeof value === 'object' && value !== null ? JSON.stringify(value) : value;
  });
}

/** The column `value` of the first row; null if there is none. */
export async function readValue<T>(
  { kysely }: Pick<Database, 'kysely'>,
  query: RawBuilder<unknown>,
): Promise<T | null> {
  const [row] = (await query.execute(kysely)).rows as { value: T }[];
  return row?.value ?? null;
}

/** The row of a statement that always returns at least one. @throws Error if there is none. */
export function firstRow<Row>([row]: readonly Row[]): Row {
  if (row === undefined) throw new Error('a statement that always returns a row returned none');
  return row;
}
