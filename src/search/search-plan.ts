import { sql } from 'kysely';
import { LRUCache } from 'lru-cache';
import type { OpenDatabase } from '../database/database.ts';
import { limitSlot, slot, type SlotValues } from '../database/statement.ts';
import { fts5Query, tsquery, type SearchedTable } from './search-index.ts';
import { queryWords, statusToken, type QueryWord } from './words.ts';
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

/** Records that are looked at to learn how often words stand together: some milliseconds of work. */
const SAMPLED_RECORDS = 3_000;

/** Samples that are kept, and for how long: nothing but speed depends on them. */
const KEPT_SAMPLES = 1_000;
const KEPT_SAMPLE_MS = 60_000;

/** Words that stand in more of the records than this are not looked up in the GIN index where others are. */
const COMMON_SHARE = 0.2;

/** Decides between search index and walk by how frequent the words are, which the databases' planners do not know. */
export class SearchPlanner {
  readonly #database: OpenDatabase;
  readonly #table: SearchedTable;
  readonly #frequencies: WordFrequencies;
  readonly #expansion: WordExpansion;
  readonly #sampled = new LRUCache<string, number>({ max: KEPT_SAMPLES, ttl: KEPT_SAMPLE_MS });

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

  /**
   * For a count: whatever the words are, the index gives what matches.
   *
   * @param status of the solicitations that count; null for all.
   */
  async planCount(q: string, status: string | null, isFresh: boolean): Promise<SearchPlan> {
    const words = queryWords(q);
    if (words.length === 0) return { mode: 'nothing', values: {}, asOf: null };
    if (this.#database.engine === 'postgres') {
      const query = tsquery(words) + (status === null ? '' : ` & '${statusToken(status)}'`);
      return { mode: 'index', values: { match: query, index_match: query }, asOf: null };
    }
    const { asOf, expansions } = await this.#expansion.expand(words, isFresh);
    const query = fts5Query(words, expansions) + (status === null ? '' : ` AND "${statusToken(status)}"`);
    return { mode: 'index', values: { match: query }, asOf: expansions.some((found) => found !== null) ? asOf : null };
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
        select rowid from catalog.${name} where ${name} match ${slot('match')} limit ${limitSlot('most')})`,
      { ...values, most: MOST_PROBED_MATCHES },
    );
    return { ...plan, mode: (probe?.matches ?? 0) < MOST_PROBED_MATCHES ? 'index' : 'check' };
  }

  async #planGin(words: readonly QueryWord[]): Promise<SearchPlan> {
    const { records, shareOf } = await this.#frequencies.read();
    const shares = words.map(shareOf);
    const rare = words.filter((_, index) => (shares[index] ?? 0) <= COMMON_SHARE);
    const match = tsquery(words);
    const values = { match, index_match: tsquery(rare.length > 0 ? rare : words) };
    // One word that is not among the frequent ones is enough. How often frequent ones stand together, only records tell.
    const share =
      words.length > 1 && !shares.includes(0) ? await this.#sampleShare(match, records) : Math.min(...shares);
    const mode = share * records <= MOST_GATHERED_MATCHES && rare.length > 0 ? 'index' : 'check';
    return { mode, values, asOf: null };
  }

  /** The share of the records that hold every word, from a random sample. */
  async #sampleShare(match: string, records: number): Promise<number> {
    const kept = this.#sampled.get(match);
    if (kept !== undefined) return kept;
    const percent = Math.min(100, (100 * SAMPLED_RECORDS) / Math.max(1, records));
    const [sample] = await this.#database.run<{ looked_at: number; found: number }>(
      `sample ${this.#table}`,
      () => sql<{ looked_at: number; found: number }>`
        select count(*) as looked_at, count(*) filter (where words @@ ${slot('match')}::tsquery) as found
        from catalog.${sql.raw(`${this.#table}_search`)} tablesample system (${slot('percent')}::float8)`,
      { match, percent },
    );
    const share = (sample?.found ?? 0) / Math.max(1, sample?.looked_at ?? 0);
    this.#sampled.set(match, share);
    return share;
  }
}
