import { sql } from 'kysely';
import type { OpenDatabase } from '../database/database.ts';
import type { SearchedTable } from './search-index.ts';
import type { QueryWord } from './words.ts';

/** The figures change with large imports only, and nothing but speed depends on them. */
const KEPT_MS = 60_000;

/** What is known of the words of a table. */
export interface KnownFrequencies {
  /** In the table, about. */
  readonly records: number;
  /** The share that every token has at most of which nothing is known. */
  readonly rareShare: number;
  /** The share of the records that a word of a query finds, about. */
  readonly shareOf: (word: QueryWord) => number;
  /** The share that has a mark, about. */
  readonly shareOfMark: (mark: string) => number;
}

/** How frequent words are, from the statistics that PostgreSQL makes when a table is analyzed. */
export class WordFrequencies {
  readonly #database: OpenDatabase;
  readonly #table: SearchedTable;
  #known: Promise<KnownFrequencies> | null = null;
  #readAtMs = Number.NEGATIVE_INFINITY;

  constructor(database: OpenDatabase, table: SearchedTable) {
    this.#database = database;
    this.#table = table;
  }

  /** Reads the statistics at most once a minute. */
  read(): Promise<KnownFrequencies> {
    const nowMs = performance.now();
    if (this.#known === null || nowMs - this.#readAtMs > KEPT_MS) {
      this.#readAtMs = nowMs;
      const known = this.#load();
      known.catch(() => {
        if (this.#known === known) this.#known = null;
      });
      this.#known = known;
    }
    return this.#known;
  }

  async #load(): Promise<KnownFrequencies> {
    const { rows } = await sql<{ records: number; words: string[] | null; shares: number[] | null }>`
      select greatest(relation.reltuples, 0)::float8 as records,
        stats.most_common_elems::text::text[] as words,
        stats.most_common_elem_freqs::float8[] as shares
      from pg_catalog.pg_class as relation
      join pg_catalog.pg_namespace as schema on schema.oid = relation.relnamespace and schema.nspname = 'catalog'
      left join pg_catalog.pg_stats as stats on stats.schemaname = 'catalog'
        and stats.tablename = relation.relname and stats.attname = 'words'
      where relation.relname = ${`${this.#table}_search`}`.execute(this.#database.kysely);
    const { records = 0, words = null, shares = null } = rows[0] ?? {};
    const shareByWord = new Map((words ?? []).map((word, index) => [word, shares?.[index] ?? 0]));
    const sorted = [...shareByWord.keys()].sort();
    const rareShare = Math.min(1, ...shareByWord.values());
    return {
      records,
      rareShare,
      shareOf: (word) => Math.max(rareShare, shareOf(word, shareByWord, sorted)),
      shareOfMark: (mark) => shareByWord.get(mark) ?? rareShare,
    };
  }
}

/**
 * Those of all frequent words that begin with it together, or of the tokens of its stem, which
 * the same records hold: few hold two of either.
 */
function shareOf(
  { prefix, stemTokens }: QueryWord,
  shares: ReadonlyMap<string, number>,
  sorted: readonly string[],
): number {
  const ofStem = stemTokens.reduce((sum, token) => sum + (shares.get(token) ?? 0), 0);
  let low = 0;
  for (let high = sorted.length; low < high;) {
    const middle = (low + high) >>> 1;
    if ((sorted[middle] ?? '') < prefix) low = middle + 1;
    else high = middle;
  }
  let ofPrefix = 0;
  for (let index = low; sorted[index]?.startsWith(prefix) === true; index += 1) {
    ofPrefix += shares.get(sorted[index] ?? '') ?? 0;
  }
  return Math.min(1, Math.max(ofPrefix, ofStem));
}
