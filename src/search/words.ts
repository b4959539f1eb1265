import { stem } from 'porter2';

/** Longest part of a word that is kept, in UTF-16 units: a lexeme of PostgreSQL holds 2,046 bytes. */
export const LONGEST_WORD = 500;

/** Stands before a stem, so that it never meets a word: no word holds it. */
const STEM_MARK = '=';

/** Stands before the beginning of a word, for the same reason. */
const PREFIX_MARK = '+';

/**
 * Beginnings of words of so many characters are tokens of their own on SQLite; PostgreSQL finds
 * them by itself. Those of two characters are few enough to be found by those of three.
 */
const PREFIX_TOKEN_LENGTHS = [1, 3];
const LONGEST_PREFIX_TOKEN = 3;

/**
 * Cuts text into words: decomposed (NFKD), stripped of combining marks, case folded, cut at
 * everything that is not a letter or digit. Both databases store and ask for what this gives,
 * so they cannot disagree. Takes time in proportion to the text.
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

export function isAscii(text: string): boolean {
  return /^[\0-\x7f]*$/.test(text);
}

function cut(word: string): string {
  return word.length > LONGEST_WORD ? word.slice(0, LONGEST_WORD).toWellFormed() : word;
}

/** One word of `q`: a record has it when a token begins with `prefix` or is one of `stemTokens`. */
export interface QueryWord {
  prefix: string;
  stemTokens: readonly string[];
}

/** The words of `q`, each once. Empty where `q` holds nothing but separators: that matches no record. */
export function queryWords(q: string): QueryWord[] {
  const formerly = formerWordsOf(q);
  const words = new Map(wordsOf(q).map((word, index) => [word, formerly[index]]));
  return Array.from(words, ([prefix, former]) => {
    const formerToken = former === undefined || former === prefix ? [] : [former];
    const stemmed = stemOf(prefix);
    if (stemmed === null) return { prefix, stemTokens: formerToken };
    const token = STEM_MARK + stemmed;
    // A word that is its own stem has no token for it, see `stemToken`.
    const tokens = stemmed !== prefix && stemOf(stemmed) === stemmed ? [token, stemmed] : [token];
    return { prefix, stemTokens: [...tokens, ...formerToken] };
  });
}

/**
 * The same words as versions up to 1.1 folded them: `straße`, and `ς` at the end. Records that have not changed since
 * are indexed by these, and must still be found by their exact spelling. No index entry of today's is one of them.
 */
function formerWordsOf(q: string): string[] {
  return isAscii(q)
    ? []
    : (
        decompose(q)
          .toLowerCase()
          .match(/[\p{L}\p{Nd}]+/gu) ?? []
      ).map(cut);
}

/** What marks a record with the English stem of one of its words; null where the word is its own stem, and marks it itself. */
export function stemToken(word: string): string | null {
  const stemmed = stemOf(word);
  return stemmed === null || stemmed === word ? null : STEM_MARK + stemmed;
}

/** Null for a word without a letter from a to z, which has no English stem. */
function stemOf(word: string): string | null {
  return /[a-z]/.test(word) ? stem(word) : null;
}

/** The tokens for the short beginnings of a word. */
export function prefixTokens(word: string): string[] {
  const characters = firstCharacters(word);
  return PREFIX_TOKEN_LENGTHS.filter((length) => length <= characters.length).map(
    (length) => PREFIX_MARK + characters.slice(0, length).join(''),
  );
}

/** The token of all words with this beginning; null where there is none for one of its length. */
export function prefixToken(prefix: string): string | null {
  const { length } = firstCharacters(prefix);
  return PREFIX_TOKEN_LENGTHS.includes(length) ? PREFIX_MARK + prefix : null;
}

/**
 * What begins the tokens of all words with this beginning, where it has no token itself: the
 * longer prefix tokens, or the words. `itself` is a word that these may leave out.
 */
export function tokensOfPrefix(prefix: string): { begin: string; itself: string | null } {
  return firstCharacters(prefix).length < LONGEST_PREFIX_TOKEN
    ? { begin: PREFIX_MARK + prefix, itself: prefix }
    : { begin: prefix, itself: null };
}

/** One more than a prefix token has at most. */
function firstCharacters(word: string): string[] {
  return Array.from(word.slice(0, 2 * LONGEST_PREFIX_TOKEN + 2)).slice(0, LONGEST_PREFIX_TOKEN + 1);
}
