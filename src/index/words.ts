import { stem } from 'porter2';

/** Longest part of a word that is indexed, in UTF-16 units: a key of PostgreSQL's indexes holds 2,700 bytes. */
const MAX_WORD_LENGTH = 500;

/** Begins the term of a stem. Words are letters and digits alone, so the two never meet. */
const STEM_SIGN = '=';

/** Begins the term of the first characters of a word, for the same reason. */
const PREFIX_SIGN = '+';

/** Beginnings of words of up to this many characters are terms: very many words begin with one. */
const MAX_PREFIX_LENGTH = 3;

/**
 * Cuts text into words: decomposed (NFKD), stripped of combining marks, case folded, cut at
 * everything that is not a letter or digit. Takes time in proportion to the text.
 */
export function wordsOf(text: string): string[] {
  // Most texts: nothing to decompose, and a cheaper expression says the same.
  const words = isAscii(text)
    ? text.toLowerCase().match(/[a-z0-9]+/g)
    : foldCase(decompose(text)).match(/[\p{L}\p{Nd}]+/gu);
  return (words ?? []).map(cut);
}

/**
 * Marks are stripped before decomposing as well as after it: normalizing puts each run of marks
 * in order by insertion, which took 5.8 s for a run of 80,000, and four times as long for twice as many.
 */
function decompose(text: string): string {
  return text.replace(MARKS, '').normalize('NFKD').replace(MARKS, '');
}

const MARKS = /\p{M}+/gu;

/**
 * Unicode's full case folding of decomposed text, and dotless i as i. The engine offers only the
 * three steps: the first makes `ẞ` a `ß`, the second makes that `SS` and gives `ς` and `σ`, or
 * `ı` and `i`, one capital. At the end of a word, `toLowerCase` writes sigma as `ς` again.
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

/** One word of `q`: a record has it if it has one of the terms, or a word that begins with `prefix`. */
export interface QueryWord {
  readonly terms: readonly string[];
  /** Null if the words that begin with it have a term of their own. */
  readonly prefix: string | null;
}

/** The words of `q`, each once. Empty if `q` holds nothing but separators: that matches no record. */
export function queryWords(q: string): QueryWord[] {
  return [...new Set(wordsOf(q))].map((word) => {
    const isShort = charactersOf(word).length <= MAX_PREFIX_LENGTH;
    return { terms: [...(isShort ? [PREFIX_SIGN + word] : []), ...stemTermsOf(word)], prefix: isShort ? null : word };
  });
}

/** The terms that records with the same English stem have. */
function stemTermsOf(word: string): string[] {
  const stemmed = stemOf(word);
  if (stemmed === null) return [];
  // A word that is its own stem has no term for it, see `termsOfWord`.
  return stemmed !== word && stemOf(stemmed) === stemmed ? [STEM_SIGN + stemmed, stemmed] : [STEM_SIGN + stemmed];
}

/** The terms of a record with this word: the word, its stem if that differs, and its first characters. */
export function termsOfWord(word: string): string[] {
  const stemmed = stemOf(word);
  const characters = charactersOf(word).slice(0, MAX_PREFIX_LENGTH);
  return [
    word,
    ...(stemmed === null || stemmed === word ? [] : [STEM_SIGN + stemmed]),
    ...characters.map((_, index) => PREFIX_SIGN + characters.slice(0, index + 1).join('')),
  ];
}

/** Null for a word without a letter from a to z, which has no English stem. */
function stemOf(word: string): string | null {
  return /[a-z]/.test(word) ? stem(word) : null;
}

/** One more character than a prefix term has at most. */
function charactersOf(word: string): string[] {
  return Array.from(word.slice(0, 2 * MAX_PREFIX_LENGTH + 2)).slice(0, MAX_PREFIX_LENGTH + 1);
}
