import { LONGEST_WORD } from './words.ts';

/** The words that were met last are kept: an import meets the same few again and again. */
const MOST_KNOWN_WORDS = 50_000;

/** More slots than words, so that few words share one. A power of two. */
const SLOTS = 2 ** 17;

/** No word of a language is longer; what is, hardly comes again. */
const LONGEST_KNOWN_WORD = 40;

const SPACE = 0x20;
const DIGIT_0 = 0x30;
const DIGIT_9 = 0x39;
const UPPER_A = 0x41;
const UPPER_Z = 0x5a;
const LOWER_A = 0x61;
const LOWER_Z = 0x7a;

interface Known<T> {
  readonly word: string;
  readonly hash: number;
  readonly value: T;
}

/**
 * What was made of each word before, found by a part of a text: cutting each word out of a text,
 * to look it up in a map, took half as long again.
 */
export class KnownWords<T> {
  readonly #make: (word: string) => T;
  #slots = new Array<Known<T> | undefined>(SLOTS);
  #size = 0;

  /** @param make what is kept of a word that was not met yet. */
  constructor(make: (word: string) => T) {
    this.#make = make;
  }

  get isFull(): boolean {
    return this.#size >= MOST_KNOWN_WORDS;
  }

  clear(): void {
    this.#slots = new Array<Known<T> | undefined>(SLOTS);
    this.#size = 0;
  }

  /** Calls `use` for each word of a text in ASCII, as `wordsOf` cuts it. */
  eachOfAscii(text: string, use: (value: T) => void): void {
    let start = 0;
    let hash = 0;
    for (let at = 0; at <= text.length; at += 1) {
      const code = at === text.length ? SPACE : text.charCodeAt(at);
      const letter = code >= UPPER_A && code <= UPPER_Z ? code + SPACE : code;
      if ((letter >= LOWER_A && letter <= LOWER_Z) || (letter >= DIGIT_0 && letter <= DIGIT_9)) {
        hash = (Math.imul(hash, 31) + letter) | 0;
        continue;
      }
      if (at > start) use(this.#find(text, start, Math.min(at, start + LONGEST_WORD), hash));
      start = at + 1;
      hash = 0;
    }
  }

  /** For a whole word, of any characters, in lower case. */
  get(word: string): T {
    let hash = 0;
    for (let at = 0; at < word.length; at += 1) hash = (Math.imul(hash, 31) + word.charCodeAt(at)) | 0;
    return this.#find(word, 0, word.length, hash);
  }

  #find(text: string, start: number, end: number, hash: number): T {
    for (let step = 0; ; step += 1) {
      const slot = ((hash ^ (hash >>> 15)) + step) & (SLOTS - 1);
      const known = this.#slots[slot];
      if (known === undefined) return this.#learn(text.slice(start, end).toLowerCase(), hash, slot);
      if (known.hash === hash && isAt(known.word, text, start, end)) return known.value;
    }
  }

  #learn(slice: string, hash: number, slot: number): T {
    // Its own string: a slice of the text would keep the text in memory.
    const word = Buffer.from(slice).toString();
    const value = this.#make(word);
    if (word.length > LONGEST_KNOWN_WORD || this.isFull) return value;
    this.#slots[slot] = { word, hash, value };
    this.#size += 1;
    return value;
  }
}

/** Whether a word in lower case stands at this place of a text, in any case. */
function isAt(word: string, text: string, start: number, end: number): boolean {
  if (word.length !== end - start) return false;
  for (let at = 0; at < word.length; at += 1) {
    const code = text.charCodeAt(start + at);
    if (word.charCodeAt(at) !== (code >= UPPER_A && code <= UPPER_Z ? code + SPACE : code)) return false;
  }
  return true;
}
