import type { Engine } from '../database/database.ts';
import { prefixTokens, stemToken, wordsOf } from './words.ts';

/** Bytes of words and stems kept of one record; a tsvector of PostgreSQL holds a megabyte, overhead included. */
const MOST_BYTES_OF_A_RECORD = 400_000;

/** The words that were met last are kept: an import meets the same few again and again. */
const MOST_KNOWN_WORDS = 50_000;

/** No word of a language is longer; what is, hardly comes again. */
const LONGEST_KNOWN_WORD = 40;

interface Token {
  readonly text: string;
  /** The last record that it was given for. */
  record: number;
}

interface KnownWord {
  readonly tokens: readonly Token[];
  /** What it counts for in the size of an entry. */
  readonly bytes: number;
  /** The last record that held it. */
  record: number;
}

/** Makes what the search index holds of a record: see `tokensOf`. One for each thread. */
export class Tokenizer {
  readonly #engine: Engine;
  readonly #words = new Map<string, KnownWord>();
  readonly #tokens = new Map<string, Token>();
  #record = 0;

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  /**
   * The words of a record's texts, their English stems and, on SQLite, their short beginnings:
   * each once, the first 400 kB of them.
   */
  tokensOf(texts: readonly (string | null)[]): string[] {
    if (this.#words.size >= MOST_KNOWN_WORDS) {
      this.#words.clear();
      this.#tokens.clear();
    }
    const record = (this.#record += 1);
    const found: string[] = [];
    let bytes = 0;
    for (const text of texts) {
      if (text === null) continue;
      for (const word of wordsOf(text)) {
        const known = this.#words.get(word) ?? this.#learn(word);
        if (known.record === record) continue;
        known.record = record;
        bytes += known.bytes;
        if (bytes > MOST_BYTES_OF_A_RECORD) return found;
        for (const token of known.tokens) {
          if (token.record === record) continue;
          token.record = record;
          found.push(token.text);
        }
      }
    }
    return found;
  }

  #learn(slice: string): KnownWord {
    // Its own string: a slice of the text would keep the text in memory.
    const word = Buffer.from(slice).toString();
    const stem = stemToken(word);
    const texts = [word, ...(stem === null ? [] : [stem]), ...(this.#engine === 'sqlite' ? prefixTokens(word) : [])];
    const known = { tokens: texts.map((text) => this.#token(text)), bytes: 2 * Buffer.byteLength(word), record: 0 };
    if (word.length <= LONGEST_KNOWN_WORD) this.#words.set(word, known);
    return known;
  }

  #token(text: string): Token {
    const known = this.#tokens.get(text);
    if (known !== undefined) return known;
    const token = { text, record: 0 };
    if (text.length <= LONGEST_KNOWN_WORD + 1) this.#tokens.set(text, token);
    return token;
  }
}
