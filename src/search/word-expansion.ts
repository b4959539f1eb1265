import { sql } from 'kysely';
import { LRUCache } from 'lru-cache';
import type { OpenDatabase } from '../database/database.ts';
import { catalogState } from '../database/revision.ts';
import { limitSlot, slot } from '../database/statement.ts';
import type { SearchedTable } from './search-index.ts';
import { prefixToken, tokensOfPrefix, type QueryWord } from './words.ts';

/** Above this FTS5 is given the prefix as it is: to begin with so many words at once costs as much as to gather what they match. */
const MOST_WORDS = 400;

/** Prefixes whose words are kept. */
const KEPT_PREFIXES = 2_000;

/** After every word that begins with a prefix: no letter or digit comes after it. */
const LAST_CHARACTER = '\u{10ffff}';

/** Words as they stand in the index, in one state of the catalog. */
export interface ExpandedWords {
  /** The state of the catalog when the words were read: what is asked with them has to be read in the same. */
  readonly asOf: string;
  /** For each word of the query the words that begin with it; null where the index has a token for all of them, or there are too many. */
  readonly expansions: readonly (readonly string[] | null)[];
}

/**
 * Finds the words of SQLite's search index that begin with those of a query. FTS5 gives the
 * records of a whole token one by one in their order, but those of a prefix only when all are
 * gathered: a third of a second for a frequent word among a million records.
 */
export class WordExpansion {
  readonly #database: OpenDatabase;
  readonly #table: SearchedTable;
  readonly #kept = new LRUCache<string, readonly string[]>({ max: KEPT_PREFIXES });
  #asOf = '';

  constructor(database: OpenDatabase, table: SearchedTable) {
    this.#database = database;
    this.#table = table;
  }

  /** @param isFresh true forgets what was found before: it was read in another state of the catalog. */
  async expand(words: readonly QueryWord[], isFresh: boolean): Promise<ExpandedWords> {
    if (isFresh) this.#kept.clear();
    for (;;) {
      const asOf = this.#asOf;
      const expansions: (readonly string[] | null)[] = [];
      for (const { prefix } of words) {
        const found = prefixToken(prefix) === null ? await this.#tokensOf(prefix) : null;
        expansions.push(found !== null && found.length <= MOST_WORDS ? found : null);
      }
      // All of them have to be of one state.
      if (asOf === this.#asOf) return { asOf, expansions };
    }
  }

  async #tokensOf(prefix: string): Promise<readonly string[]> {
    const { begin, itself } = tokensOfPrefix(prefix);
    const found = await this.#wordsOf(begin);
    return itself === null ? found : [itself, ...found];
  }

  /** One look into the index for each word: from one to the next, past all that the first stands in. */
  async #wordsOf(prefix: string): Promise<readonly string[]> {
    const kept = this.#kept.get(prefix);
    if (kept !== undefined) return kept;
    const vocabulary = sql.raw(`temp.${this.#table}_words`);
    const rows = await this.#database.run<{ as_of: string; word: string | null }>(
      `words of ${this.#table}`,
      () => sql<{ as_of: string; word: string | null }>`
        with recursive word(term) as (
          select (select term from ${vocabulary} where term >= ${slot('prefix')} limit 1)
          union all
          select (select term from ${vocabulary} where term >= word.term || ' ' limit 1)
          from word where word.term < ${slot('end')} limit ${limitSlot('most')}
        )
        select ${catalogState} as as_of, word.term as word
        from (select 1) left join word on word.term >= ${slot('prefix')} and word.term < ${slot('end')}`,
      { prefix, end: prefix + LAST_CHARACTER, most: MOST_WORDS + 2 },
    );
    const asOf = rows[0]?.as_of ?? '';
    if (asOf !== this.#asOf) this.#kept.clear();
    this.#asOf = asOf;
    const words = rows.flatMap(({ word }) => word ?? []);
    this.#kept.set(prefix, words);
    return words;
  }
}
