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

/** What a page is thought to hold. */
const PAGE = 26;

/**
 * What one step costs, in microseconds: a match that the index gives, whose entry stands anywhere
 * and often not in PostgreSQL's own memory; an entry that is read in order; a record that is
 * checked; and to read a place in the index, of a word, all of whose continuations have to be
 * gathered, or of a mark.
 */
const COSTS = { gathered: 5, entry: 1.3, checked: 2.4, ofWord: 0.15, ofMark: 0.02 };

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
    const { records, rareShare, shareOf, shareOfMark } = await this.#frequencies.read();
    const terms: Term[] = [
      ...words.map((word) => ({ query: tsquery([word]), share: shareOf(word), cost: COSTS.ofWord })),
      ...marks.map((oneOf) => ({
        query: tsquery([], [oneOf]),
        share: Math.min(1, sum(oneOf.map(shareOfMark))),
        cost: COSTS.ofMark,
      })),
    ];
    const wordShares = terms.slice(0, words.length).map(({ share }) => share);
    // One word that is not among the frequent ones is enough. How often frequent ones stand together, only records tell.
    const wordShare =
      words.length > 1 && Math.min(...terms.map(({ share }) => share)) > rareShare
        ? await this.#sampleShare(tsquery(words), records)
        : Math.min(...wordShares);
    const markShare = product(terms.slice(words.length).map(({ share }) => share));
    const lookedUp = chooseTerms(terms, records);
    const values = { match: tsquery(words, marks), index_match: lookedUp.query };
    const mode = cheapest({
      index: lookedUp.cost + Math.max(lookedUp.gathered, records * wordShare * markShare) * COSTS.gathered,
      entries: isSince ? Infinity : Math.min(records, PAGE / (wordShare * markShare)) * COSTS.entry,
      // Without a mark or an instant there is no narrower walk than that of all entries.
      check: marks.length > 0 || isSince ? Math.min(records * markShare, PAGE / wordShare) * COSTS.checked : Infinity,
    });
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

  /** PostgreSQL reads no list in parts. */
  hasFewMatches(): boolean {
    return true;
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

/** A word or a list of marks, one of which has to be there. */
interface Term {
  readonly query: string;
  readonly share: number;
  /** To read one of its places in the index. */
  readonly cost: number;
}

/** What is looked up in the index: the rarest term, and each further one that saves more than reading its places costs. */
function chooseTerms(terms: readonly Term[], records: number): { query: string; cost: number; gathered: number } {
  const chosen: string[] = [];
  let gathered = records;
  let cost = 0;
  for (const term of terms.toSorted((a, b) => a.share - b.share)) {
    const reading = records * term.share * term.cost;
    if (chosen.length > 0 && gathered * (1 - term.share) * COSTS.gathered <= reading) continue;
    chosen.push(term.query);
    gathered *= term.share;
    cost += reading;
  }
  return { query: chosen.join(' & '), cost, gathered };
}

function cheapest(costs: Record<Exclude<SearchMode, 'nothing'>, number>): SearchMode {
  const [[mode] = ['index' as const]] = Object.entries(costs).sort(([, a], [, b]) => a - b) as [SearchMode, number][];
  return mode;
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

function product(values: readonly number[]): number {
  return values.reduce((total, value) => total * value, 1);
}
