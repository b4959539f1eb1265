import { sql } from 'kysely';
import type { OpenDatabase } from '../database/database.ts';
import { slot, type SlotValues } from '../database/statement.ts';
import { fts5Query, tsquery, type SearchedTable } from './search-index.ts';
import { queryWords, type QueryWord } from './words.ts';
import { WordExpansion } from './word-expansion.ts';
import { WordFrequencies } from './word-frequencies.ts';

/**
 * How a search finds its records in the order of a list:
 * - `nothing`: no record can match.
 * - `index`: the search index gives the records, and the other conditions are looked at on each.
 * - `check`: the walk of the list gives the records, and the words are looked up for each.
 */
export type SearchMode = 'nothing' | 'index' | 'check';

export interface SearchPlan {
  readonly mode: SearchMode;
  readonly values: SlotValues;
  /** The publication at which the words were read; null where none were. What is asked with the plan has to see the same. */
  readonly asOf: string | null;
}

/**
 * As many matches as SQLite's index is asked for at most where a narrow walk could be checked
 * instead. A check costs about fifteen times what a match does, and common words are found soon.
 */
const MOST_PROBED_MATCHES = 20_000;

/** Above this, PostgreSQL's GIN index, which gives all matches and in no order, costs more than a walk. */
const MOST_GATHERED_MATCHES = 5_000;

/** Words that stand in more of the records than this are not looked up in the GIN index where others are. */
const COMMON_SHARE = 0.2;

/** Decides between search index and walk by how frequent the words are, which the databases' planners do not know. */
export class SearchPlanner {
  readonly #database: OpenDatabase;
  readonly #table: SearchedTable;
  readonly #frequencies: WordFrequencies;
  readonly #expansion: WordExpansion;

  constructor(database: OpenDatabase, table: SearchedTable) {
    this.#database = database;
    this.#table = table;
    this.#frequencies = new WordFrequencies(database, table);
    this.#expansion = new WordExpansion(database, table);
  }

  /**
   * @param isNarrow whether the walk without the search would leave out most records.
   * @param isFresh whether a plan of before was made at an earlier publication.
   */
  async plan(q: string, { isNarrow = false, isFresh = false } = {}): Promise<SearchPlan> {
    const words = queryWords(q);
    if (words.length === 0) return { mode: 'nothing', values: {}, asOf: null };
    return this.#database.engine === 'sqlite' ? this.#planFts5(words, isNarrow, isFresh) : this.#planGin(words);
  }

  /** FTS5 gives its matches in the order of the list, one after the other: only where few of them are visible that is dear. */
  async #planFts5(words: readonly QueryWord[], isNarrow: boolean, isFresh: boolean): Promise<SearchPlan> {
    const { asOf, expansions } = await this.#expansion.expand(words, isFresh);
    const values = { match: fts5Query(words, expansions) };
    const plan = { values, asOf: expansions.some((words) => words !== null) ? asOf : null };
    if (!isNarrow) return { ...plan, mode: 'index' };
    const name = sql.raw(`${this.#table}_search`);
    const [probe] = await this.#database.run<{ matches: number }>(
      `probe ${this.#table}`,
      () => sql<{ matches: number }>`select count(*) as matches from (
        select rowid from catalog.${name} where ${name} match ${slot('match')} limit ${slot('most')})`,
      { ...values, most: MOST_PROBED_MATCHES },
    );
    return { ...plan, mode: (probe?.matches ?? 0) < MOST_PROBED_MATCHES ? 'index' : 'check' };
  }

  async #planGin(words: readonly QueryWord[]): Promise<SearchPlan> {
    const { records, shareOf } = await this.#frequencies.read();
    const shares = words.map(shareOf);
    const matches = records * shares.reduce((product, share) => product * share, 1);
    const rare = words.filter((_, index) => (shares[index] ?? 0) <= COMMON_SHARE);
    const values = { match: tsquery(words), index_match: tsquery(rare.length > 0 ? rare : words) };
    const mode = matches <= MOST_GATHERED_MATCHES && rare.length > 0 ? 'index' : 'check';
    return { mode, values, asOf: null };
  }
}
