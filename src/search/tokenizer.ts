import type { Engine } from '../database/database.ts';
import { prefixTokens, stemToken, wordsOf } from './words.ts';

/** Bytes of words and stems kept of one record; a tsvector of PostgreSQL holds a megabyte, overhead included. */
const MOST_BYTES_OF_A_RECORD = 400_000;

/** An import meets the same few words again and again: stemming them each time would take longer than all the rest. */
const MAX_CACHED_WORDS = 50_000;

/** Longer words are rarely met again. */
const MAX_CACHED_WORD_LENGTH = 40;

/** Makes what the search index holds of a record. One for each thread. */
export class Tokenizer {
  readonly #engine: Engine;
  /** The tokens of each word. A `Map`, because its hash is seeded: no text can be made whose words collide. */
  readonly #tokensByWord = new Map<string, readonly string[]>();

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  /**
   * The words of a record's texts, their English stems and, on SQLite, their short beginnings:
   * each once, the first 400 kB of them. Words after these are not looked at.
   */
  tokensOf(texts: readonly (string | null)[]): string[] {
    const tokens = new Set<string>();
    let bytes = 0;
    for (const text of texts) {
      for (const word of wordsOf(text ?? '')) {
        if (tokens.has(word)) continue;
        bytes += 2 * Buffer.byteLength(word);
        if (bytes > MOST_BYTES_OF_A_RECORD) return [...tokens];
        for (const token of this.#tokensByWord.get(word) ?? this.#makeTokens(word)) tokens.add(token);
      }
    }
    return [...tokens];
  }

  #makeTokens(slice: string): readonly string[] {
    // Its own string: a slice of the text would keep the text in memory.
    const word = Buffer.from(slice).toString();
    const stem = stemToken(word);
    const tokens = [word, ...(stem === null ? [] : [stem]), ...(this.#engine === 'sqlite' ? prefixTokens(word) : [])];
    if (word.length > MAX_CACHED_WORD_LENGTH) return tokens;
    if (this.#tokensByWord.size >= MAX_CACHED_WORDS) this.#tokensByWord.clear();
    this.#tokensByWord.set(word, tokens);
    return tokens;
  }
}
