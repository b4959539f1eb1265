import { termsOfWord, wordsOf } from './words.ts';

/** Bytes of words that are indexed of one record, so that a hostile one cannot make rows without end. */
export const MAX_RECORD_BYTES = 400_000;

/** An import meets the same few words again and again: stemming them each time would take longer than all the rest. */
const MAX_CACHED_WORDS = 50_000;

/** Longer words are rarely met again. */
const MAX_CACHED_WORD_LENGTH = 40;

/** Turns texts into terms of the index. Each thread has its own. */
export class Tokenizer {
  /** A `Map`, because its hash is seeded: no text can be made whose words collide. */
  readonly #termsByWord = new Map<string, readonly string[]>();

  /** The terms of the words of these texts, each once: of the first 200 kB of different words. */
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
    // Its own string: a slice of the text would keep the text in memory.
    const word = Buffer.from(slice).toString();
    const terms = termsOfWord(word);
    if (word.length > MAX_CACHED_WORD_LENGTH) return terms;
    if (this.#termsByWord.size >= MAX_CACHED_WORDS) this.#termsByWord.clear();
    this.#termsByWord.set(word, terms);
    return terms;
  }
}
