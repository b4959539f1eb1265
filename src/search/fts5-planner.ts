import { sql } from 'kysely';
import { LRUCache } from 'lru-cache';
import type { OpenDatabase } from '../database/database.ts';
import { limitSlot, slot } from '../database/statement.ts';
import { DeadlineRangeReader } from './deadline-range.ts';
import { coverDeadlines, type DeadlineWindow, type Marks } from './marks.ts';
import { fts5Query, type SearchedTable } from './search-index.ts';
import type { EnginePlanner, SearchPlan, WordQuestion } from './search-plan.ts';
import { WordExpansion } from './word-expansion.ts';

/** From so many matches on, lists are read in parts, and the marks of a window are looked up: each is a look into the index, which costs as much as ten matches. */
const MANY_MATCHES = 5_000;

/** From so many on, the changed records are checked instead. A check costs about fifteen times what a match does. */
const MOST_MATCHES = 10_000;

/** How many matches there are is kept, and for how long: nothing but speed depends on it. */
const KEPT_PROBES = 1_000;
const KEPT_PROBE_MS = 60_000;

/** FTS5 gives its matches in the order of the list, one after the other: only where few of them are visible that is dear. */
export class Fts5Planner implements EnginePlanner {
  readonly #database: OpenDatabase;
  readonly #table: SearchedTable;
  readonly #expansion: WordExpansion;
  readonly #deadlines: DeadlineRangeReader;
  readonly #probed = new LRUCache<string, number>({ max: KEPT_PROBES, ttl: KEPT_PROBE_MS });

  constructor(database: OpenDatabase, table: SearchedTable) {
    this.#database = database;
    this.#table = table;
    this.#expansion = new WordExpansion(database, table);
    this.#deadlines = new DeadlineRangeReader(database);
  }

  async plan(question: WordQuestion): Promise<SearchPlan> {
    const { words, marks, window, isFresh } = question;
    // Each of the walks looks words up, a millisecond each time: with 341 new grants that took a third of a second.
    const isSince = question.isSince && !question.hasNewGrants;
    const { asOf, queryFor } = await this.#expand(words, isFresh);
    const match = queryFor(marks);
    if (window === null && !isSince) return { mode: 'index', values: { match }, asOf };
    const matches = await this.#probe(match, isSince ? MOST_MATCHES : MANY_MATCHES);
    if (isSince && matches >= MOST_MATCHES) return { mode: 'check', values: { match }, asOf };
    if (window === null || matches < MANY_MATCHES) return { mode: 'index', values: { match }, asOf };
    const { cover, values, asOf: readAt } = await this.#coverWindow(question, window);
    const deadlines = [...cover.within, ...cover.edges];
    return { mode: deadlines.length === 0 ? 'nothing' : 'index', values: { match: values(deadlines) }, asOf: readAt };
  }

  async planCount(question: WordQuestion): Promise<SearchPlan> {
    const { words, marks, window, isFresh } = question;
    if (window === null) {
      const { asOf, queryFor } = await this.#expand(words, isFresh);
      return { mode: 'index', values: { match: queryFor(marks) }, asOf };
    }
    const { cover, values, asOf } = await this.#coverWindow(question, window);
    return { mode: 'index', values: { match: values(cover.within), edge_match: values(cover.edges) }, asOf };
  }

  async hasFewMatches({ values }: SearchPlan): Promise<boolean> {
    const queries = [values['match'], values['edge_match']].filter((match) => typeof match === 'string');
    const matches = await Promise.all(queries.map((match) => this.#probe(match, MANY_MATCHES)));
    return matches.every((count) => count < MANY_MATCHES);
  }

  async #expand(words: WordQuestion['words'], isFresh: boolean) {
    const { asOf, expansions } = await this.#expansion.expand(words, isFresh);
    return {
      asOf: expansions.some((found) => found !== null) ? asOf : null,
      queryFor: (marks: Marks): string => fts5Query(words, expansions, marks),
    };
  }

  /** Words and the range of deadlines, as of one publication. */
  async #coverWindow({ words, marks, isFresh }: WordQuestion, window: DeadlineWindow) {
    for (let fresh = isFresh; ; fresh = true) {
      const range = await this.#deadlines.read(fresh);
      const { asOf, queryFor } = await this.#expand(words, fresh);
      if (asOf !== null && asOf !== range.asOf) continue;
      return {
        asOf: range.asOf,
        cover: coverDeadlines(window, range),
        values: (deadlines: readonly string[]): string => queryFor([...marks, deadlines]),
      };
    }
  }

  /** How many entries match; `most` for more. */
  async #probe(match: string, most: number): Promise<number> {
    const key = `${most} ${match}`;
    const kept = this.#probed.get(key);
    if (kept !== undefined) return kept;
    const name = sql.raw(`${this.#table}_search`);
    const [probe] = await this.#database.run<{ matches: number }>(
      `probe ${this.#table}`,
      () => sql<{ matches: number }>`select count(*) as matches from (
        select rowid from catalog.${name} where ${name} match ${slot('match')} limit ${limitSlot('most')})`,
      { match, most },
    );
    const matches = probe?.matches ?? 0;
    this.#probed.set(key, matches);
    return matches;
  }
}
