import { sql, type Expression, type RawBuilder, type SqlBool } from 'kysely';
import type { Engine } from '../database/database.ts';
import { slot } from '../database/statement.ts';
import type { Marks } from './marks.ts';
import { prefixToken, type QueryWord } from './words.ts';

export type SearchedTable = 'certifications' | 'suppliers' | 'contracts' | 'solicitations';

/** Conditions that bound a column of numbers to a part of a list. */
export type NumberBounds = (number: Expression<unknown>) => readonly RawBuilder<SqlBool>[];

/*
 * Statements that search take the slot `match`: all words and marks, as `fts5Query` or `tsquery`
 * writes them. On PostgreSQL those that begin with the index take `index_match` besides: what is
 * looked up in it.
 */

/**
 * The query of FTS5 for all of these words and marks. They hold letters, digits and the signs of
 * tokens only, so quoting them is enough.
 *
 * @param expansions for each word, those of the index that begin with it; null where the index
 *   has a token for all of these, or FTS5 is to look for them.
 */
export function fts5Query(
  words: readonly QueryWord[],
  expansions: readonly (readonly string[] | null)[] = [],
  marks: Marks = [],
): string {
  const wordTerms = words.map(({ prefix, stemTokens }, index) => {
    const beginning = prefixToken(prefix);
    const found = beginning === null ? expansions[index]?.map((word) => `"${word}"`) : [`"${beginning}"`];
    const terms = [...(found ?? [`"${prefix}" *`]), ...stemTokens.map((token) => `"${token}"`)];
    // Where nothing begins with it, the word itself stands there: it matches nothing.
    return terms.length === 0 ? [`"${prefix}"`] : terms;
  });
  const markTerms = marks.map((oneOf) => orNothing(oneOf).map((mark) => `"${mark}"`));
  return [...wordTerms, ...markTerms].map((terms) => `(${terms.join(' OR ')})`).join(' AND ');
}

/** The same for PostgreSQL. */
export function tsquery(words: readonly QueryWord[], marks: Marks = []): string {
  const wordTerms = words.map(({ prefix, stemTokens }) => [
    `'${prefix}':*`,
    ...stemTokens.map((token) => `'${token}'`),
  ]);
  const markTerms = marks.map((oneOf) => orNothing(oneOf).map((mark) => `'${mark}'`));
  return [...wordTerms, ...markTerms].map((terms) => `(${terms.join(' | ')})`).join(' & ');
}

/** A mark that nothing has, where no mark will do. */
function orNothing(oneOf: readonly string[]): readonly string[] {
  return oneOf.length === 0 ? ['='] : oneOf;
}

/**
 * True where the record of this number holds every word. Costs a look into the search entry of
 * each record that it is asked for.
 *
 * A subquery that gives a value stays one: the planners would turn `exists` into a join, and
 * begin with all that the words match.
 */
export function holdsWords(engine: Engine, table: SearchedTable, number: Expression<unknown>): RawBuilder<SqlBool> {
  const entries = sql.raw(`${table}_search`);
  return engine === 'sqlite'
    ? sql<SqlBool>`(select 1 from catalog.${entries} where ${entries} match ${slot('match')} and rowid = ${number}) is not null`
    : sql<SqlBool>`(select ts_match_vq(entry.words, ${slot('match')}::tsquery)
        from catalog.${entries} as entry where entry.number = ${number})`;
}

/**
 * The numbers of the entries that match, in order, as `from` begins: with a column `number`.
 * FTS5 gives them one by one; GIN all at once, to be sorted.
 */
export function matchedNumbers(engine: Engine, table: SearchedTable, part: NumberBounds): RawBuilder<unknown> {
  const entries = sql.raw(`${table}_search`);
  // As a function the match cannot be looked up in the index, where a common beginning of words costs more than it saves.
  return engine === 'sqlite'
    ? allMatches(engine, table, 'match', part)
    : sql`(select number from catalog.${entries}
        where words @@ ${slot('index_match')}::tsquery and ts_match_vq(words, ${slot('match')}::tsquery)
        order by number offset 0)`;
}

/**
 * The numbers of all entries that match the slot of this name, in any order.
 *
 * @param part what bounds the numbers on SQLite, given their column.
 */
export function allMatches(
  engine: Engine,
  table: SearchedTable,
  match: string,
  part: NumberBounds = () => [],
): RawBuilder<unknown> {
  const entries = sql.raw(`${table}_search`);
  return engine === 'sqlite'
    ? sql`(select rowid as number from catalog.${entries}
        where ${sql.join([sql`${entries} match ${slot(match)}`, ...part(sql.ref('rowid'))], sql` and `)})`
    : sql`(select number from catalog.${entries} where words @@ ${slot(match)}::tsquery offset 0)`;
}

/** How many these are. Looks at nothing but the index on SQLite. */
export function countMatches(
  engine: Engine,
  table: SearchedTable,
  match: string,
  part: NumberBounds,
): RawBuilder<number> {
  return sql<number>`(select count(*) from ${allMatches(engine, table, match, part)} as found)`;
}

/** Whether an entry of PostgreSQL's matches; as a function it is not looked up in the index. */
export function matchingEntry(alias: string): RawBuilder<SqlBool> {
  return sql<SqlBool>`ts_match_vq(${sql.ref(`${alias}.words`)}, ${slot('match')}::tsquery)`;
}
