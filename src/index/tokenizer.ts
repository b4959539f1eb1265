import { termsOfWord, wordsOf } from './words.ts';

/**
 * Limits the indexed words of one record, so that a hostile one cannot create unlimited rows. Each distinct word counts
 * twice its bytes.
 */
export const MAX_RECORD_BYTES = 400_000;

/** Imports repeat the same few words: stemming each time would take longer than everything else. */
const MAX_CACHED_WORDS = 50_000;

/** Longer words rarely repeat. */
const MAX_CACHED_WORD_LENGTH = 40;

/** Converts texts into index terms. Not shared between threads. */
export class Tokenizer {
  /** A `Map`, because its hash is seeded: texts cannot be crafted to make words collide. */
  readonly #termsByWord = new Map<string, readonly string[]>();

  /** The distinct terms of these texts' words, up to 200 kB of distinct words. */
  termsOf(texts: readonly (string | null)[]): Set<string> {
    const terms = new Set<string>();
    let bytes = 0;
    for (const text of texts) {
      for (const word of wordsOf(text ?? '')) {
        if (terms.has(word)) continue;
        bytes += 2 * Buffer.byteLength(word);
        if (bytes > MAX_RECORD_BYTES) return terms;
        for (const term of this.#termsByWord.get(word) ?? this.#makeTerms(word)) terms.add(term);
      }
    }
    return terms;
  }

  #makeTerms(slice: string): readonly string[] {
    // A new string: a slice would keep the whole text in memory.
    const word = Buffer.from(slice).toString();
    const terms = termsOfWord(word);
    if (word.length > MAX_CACHED_WORD_LENGTH) return terms;
    if (this.#termsByWord.size >= MAX_CACHED_WORDS) this.#termsByWord.clear();
    this.#termsByWord.set(word, terms);
    return terms;
  }
}
