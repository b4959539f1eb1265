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

/** The texts of a list as rows with one column, `value`. */
export function listSlot(engine: Engine, name: string): RawBuilder<{ value: string }> {
  return engine === 'postgres'
    ? sql<{ value: string }>`select unnest(${slot(name)}::text[]) as value`
    : sql<{ value: string }>`select value from json_each(${slot(name)})`;
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
export type SlotValues = Readonly<Record<string, string | number | null | readonly string[]>>;

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
