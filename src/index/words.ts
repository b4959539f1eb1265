import { stem } from 'porter2';

/** Words are cut at this length, in UTF-16 units: a PostgreSQL index key holds at most 2,700 bytes. */
const MAX_WORD_LENGTH = 500;

/** Prefix of stem terms. Words contain only letters and digits, so the two cannot collide. */
const STEM_SIGN = '=';

/** Prefix of the terms of a word's first characters, for the same reason. */
const PREFIX_SIGN = '+';

/** Prefixes of up to this many characters are terms: a range scan for one would match very many words. */
const MAX_PREFIX_LENGTH = 3;

/**
 * Splits text into words: decomposed (NFKD), stripped of combining marks, case folded, split at everything but letters
 * and digits. Takes linear time.
 */
export function wordsOf(text: string): string[] {
  // Fast path for most texts: nothing to decompose, and a cheaper expression gives the same words.
  const words = isAscii(text)
    ? text.toLowerCase().match(/[a-z0-9]+/g)
    : foldCase(decompose(text)).match(/[\p{L}\p{Nd}]+/gu);
  return (words ?? []).map(cut);
}

/**
 * Strips marks before decomposing as well as after: normalization sorts each run of marks by insertion, which took 5.8
 * s for 80,000 marks, and four times as long for twice as many.
 */
function decompose(text: string): string {
  return text.replace(MARKS, '').normalize('NFKD').replace(MARKS, '');
}

const MARKS = /\p{M}+/gu;

/**
 * Unicode full case folding of decomposed text, with dotless i as i. JavaScript lacks it, so it takes three steps: the
 * first makes `ẞ` a `ß`; the second turns that into `SS`, and gives `ς` and `σ`, or `ı` and `i`, the same capital; the
 * third lowercases. At the end of a word, `toLowerCase` writes sigma as `ς` again.
 */
function foldCase(text: string): string {
  return text.toLowerCase().toUpperCase().toLowerCase().replaceAll('ς', 'σ');
}

function isAscii(text: string): boolean {
  return /^[\0-\x7f]*$/.test(text);
}

function cut(word: string): string {
  return word.length > MAX_WORD_LENGTH ? word.slice(0, MAX_WORD_LENGTH).toWellFormed() : word;
}

/**
 * The distinct words of `q`. A record matches a word if it has one of the terms, or a word that begins with `prefix`, which
 * is null if a term covers it. Empty if `q` holds only separators: that matches no record.
 */
export function queryWords(q: string): { terms: string[]; prefix: string | null }[] {
  return [...new Set(wordsOf(q))].map((word) => {
    const isShort = charactersOf(word).length <= MAX_PREFIX_LENGTH;
    return { terms: [...(isShort ? [PREFIX_SIGN + word] : []), ...stemTermsOf(word)], prefix: isShort ? null : word };
  });
}

/** Returns whether a record, by its `termText`, matches every word of `q`; never if there are no words. */
export function wordMatcher(q: string): (termText: string) => boolean {
  const words = queryWords(q).map(({ terms, prefix }) => [
    ...terms.map((term) => ` ${term} `),
    ...(prefix === null ? [] : [` ${prefix}`]),
  ]);
  return (termText) => words.length > 0 && words.every((parts) => parts.some((part) => termText.includes(part)));
}

function stemTermsOf(word: string): string[] {
  const stemmed = stemOf(word);
  if (stemmed === null) return [];
  // A word that is its own stem has no stem term; see `termsOfWord`.
  return stemmed !== word && stemOf(stemmed) === stemmed ? [STEM_SIGN + stemmed, stemmed] : [STEM_SIGN + stemmed];
}

/** The terms for a word: the word, its stem if that differs, and its prefixes. */
export function termsOfWord(word: string): string[] {
  const stemmed = stemOf(word);
  const characters = charactersOf(word).slice(0, MAX_PREFIX_LENGTH);
  return [
    word,
    ...(stemmed === null || stemmed === word ? [] : [STEM_SIGN + stemmed]),
    ...characters.map((_, index) => PREFIX_SIGN + characters.slice(0, index + 1).join('')),
  ];
}

/** Null for a word without letters a to z, which has no English stem. */
function stemOf(word: string): string | null {
  return /[a-z]/.test(word) ? stem(word) : null;
}

/** The first characters, one more than the longest prefix term. */
function charactersOf(word: string): string[] {
  return Array.from(word.slice(0, 2 * MAX_PREFIX_LENGTH + 2)).slice(0, MAX_PREFIX_LENGTH + 1);
}

/** Limits one record's distinct words, each at twice its bytes: a hostile record cannot create unlimited rows. */
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

  /** The terms of these texts with a space around each: a set for each of many names would take ten times the memory. */
  termText(texts: readonly (string | null)[]): string {
    return ` ${[...this.termsOf(texts)].join(' ')} `;
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
