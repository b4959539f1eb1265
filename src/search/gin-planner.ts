import { sql } from 'kysely';
import { LRUCache } from 'lru-cache';
import type { OpenDatabase } from '../database/database.ts';
import { slot } from '../database/statement.ts';
import { DeadlineRangeReader } from './deadline-range.ts';
import { coverDeadlines } from './marks.ts';
import { tsquery, type SearchedTable } from './search-index.ts';
import type { EnginePlanner, SearchMode, SearchPlan, WordQuestion } from './search-plan.ts';
import { WordFrequencies } from './word-frequencies.ts';

/** Records that are looked at to learn how often words stand together: some milliseconds of work. */
const SAMPLED_RECORDS = 3_000;

/** Samples that are kept, and for how long: nothing but speed depends on them. */
const KEPT_SAMPLES = 1_000;
const KEPT_SAMPLE_MS = 60_000;

/** What stands in more of the records than this is not looked up in the GIN index where something else is. */
const COMMON_SHARE = 0.2;

/** What a page is thought to hold. */
const PAGE = 26;

/** What one step costs, against another: a match that the index gives, an entry that is read in order, a record that is checked. */
const COSTS = { gathered: 4, entry: 0.8, checked: 2.4 };

/**
 * GIN gives all matches, in no order, so that frequent words are looked up on a walk: the costs
 * of either are compared, by the shares of the records that hold what is asked for.
 */
export class GinPlanner implements EnginePlanner {
  readonly #database: OpenDatabase;
  readonly #table: SearchedTable;
  readonly #frequencies: WordFrequencies;
  readonly #deadlines: DeadlineRangeReader;
  readonly #sampled = new LRUCache<string, number>({ max: KEPT_SAMPLES, ttl: KEPT_SAMPLE_MS });

  constructor(database: OpenDatabase, table: SearchedTable) {
    this.#database = database;
    this.#table = table;
    this.#frequencies = new WordFrequencies(database, table);
    this.#deadlines = new DeadlineRangeReader(database);
  }

  async plan({ words, marks, isSince }: WordQuestion): Promise<SearchPlan> {
    const { records, shareOf, shareOfMark } = await this.#frequencies.read();
    const wordShares = words.map(shareOf);
    const markShares = marks.map((oneOf) => Math.min(1, sum(oneOf.map(shareOfMark))));
    const rareWords = words.filter((_, index) => (wordShares[index] ?? 0) <= COMMON_SHARE);
    const rareMarks = marks.filter((_, index) => (markShares[index] ?? 0) <= COMMON_SHARE);
    const hasRare = rareWords.length + rareMarks.length > 0;
    // One word that is not among the frequent ones is enough. How often frequent ones stand together, only records tell.
    const wordShare =
      words.length > 1 && !wordShares.includes(0) && !markShares.includes(0)
        ? await this.#sampleShare(tsquery(words), records)
        : Math.min(...wordShares);
    const markShare = markShares.reduce((product, share) => product * share, 1);
    const mode = hasRare ? cheapest(records, wordShare, markShare, marks.length > 0, isSince) : walkMode(isSince);
    const values = {
      match: tsquery(words, marks),
      index_match: hasRare ? tsquery(rareWords, rareMarks) : tsquery(words, marks),
    };
    return { mode, values, asOf: null };
  }

  async planCount({ words, marks, window, isFresh }: WordQuestion): Promise<SearchPlan> {
    if (window === null) return { mode: 'index', values: { match: tsquery(words, marks) }, asOf: null };
    const range = await this.#deadlines.read(isFresh);
    const { within, edges } = coverDeadlines(window, range);
    const values = {
      match: tsquery(words, [...marks, within]),
      edge_match: tsquery(words, [...marks, edges]),
    };
    return { mode: 'index', values, asOf: range.asOf };
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

function cheapest(
  records: number,
  wordShare: number,
  markShare: number,
  hasMarks: boolean,
  isSince: boolean,
): SearchMode {
  const gathered = records * wordShare * markShare * COSTS.gathered;
  const entries = Math.min(records, PAGE / (wordShare * markShare)) * COSTS.entry;
  // Without a mark or an instant there is no narrower walk than that of all entries.
  const isNarrow = hasMarks || isSince;
  const checked = isNarrow ? Math.min(records * markShare, PAGE / wordShare) * COSTS.checked : Infinity;
  if (gathered <= Math.min(isSince ? Infinity : entries, checked)) return 'index';
  return isSince || checked < entries ? 'check' : 'entries';
}

function walkMode(isSince: boolean): SearchMode {
  return isSince ? 'check' : 'entries';
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
