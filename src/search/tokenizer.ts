import type { Engine } from '../database/database.ts';
import { KnownWords } from './known-words.ts';
import { isAscii, prefixTokens, stemToken, wordsOf } from './words.ts';

/** Bytes of words and stems kept of one record; a tsvector of PostgreSQL holds a megabyte, overhead included. */
const MOST_BYTES_OF_A_RECORD = 400_000;

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

/** Makes what the search index holds of a record. One for each thread. */
export class Tokenizer {
  readonly #engine: Engine;
  readonly #words = new KnownWords((word) => this.#learn(word));
  readonly #tokens = new Map<string, Token>();
  #record = 0;
  #found: string[] = [];
  #bytes = 0;

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  /**
   * The words of a record's texts, their English stems and, on SQLite, their short beginnings:
   * each once, the first 400 kB of them.
   */
  tokensOf(texts: readonly (string | null)[]): string[] {
    if (this.#words.isFull) {
      this.#words.clear();
      this.#tokens.clear();
    }
    this.#record += 1;
    this.#found = [];
    this.#bytes = 0;
    for (const text of texts) {
      if (text === null) continue;
      if (isAscii(text)) this.#words.eachOfAscii(text, this.#add);
      else for (const word of wordsOf(text)) this.#add(this.#words.get(word));
    }
    return this.#found;
  }

  readonly #add = (word: KnownWord): void => {
    if (word.record === this.#record || this.#bytes > MOST_BYTES_OF_A_RECORD) return;
    word.record = this.#record;
    this.#bytes += word.bytes;
    if (this.#bytes > MOST_BYTES_OF_A_RECORD) return;
    for (const token of word.tokens) {
      if (token.record === this.#record) continue;
      token.record = this.#record;
      this.#found.push(token.text);
    }
  };

  #learn(word: string): KnownWord {
    const stem = stemToken(word);
    const texts = [word, ...(stem === null ? [] : [stem]), ...(this.#engine === 'sqlite' ? prefixTokens(word) : [])];
    return { tokens: texts.map((text) => this.#token(text)), bytes: 2 * Buffer.byteLength(word), record: 0 };
  }

  #token(text: string): Token {
    const known = this.#tokens.get(text);
    if (known !== undefined) return known;
    const token = { text, record: 0 };
    this.#tokens.set(text, token);
    return token;
  }
}
