import { stem } from 'porter2';

/** Longest part of a word that is kept, in UTF-16 units: a lexeme of PostgreSQL holds 2,046 bytes. */
const LONGEST_WORD = 500;

/** Bytes of words kept of one record; a tsvector of PostgreSQL holds a megabyte, overhead included. */
const MOST_BYTES_OF_A_RECORD = 400_000;

/** Stands before a stem, so that it never meets a word: no word holds it. */
const STEM_MARK = '=';

/**
 * Cuts text into words: decomposed (NFKD), stripped of combining marks, lower-cased, cut at
 * everything that is not a letter or digit. Both databases store and ask for what this gives,
 * so they cannot disagree.
 */
export function wordsOf(text: string): string[] {
  // Most texts: nothing to decompose, and a cheaper expression says the same.
  if (PLAIN.test(text)) return (text.toLowerCase().match(/[a-z0-9]+/g) ?? []).map(cut);
  return (
    text
      .normalize('NFKD')
      .replace(/\p{M}+/gu, '')
      .toLowerCase()
      .match(/[\p{L}\p{Nd}]+/gu) ?? []
  ).map(cut);
}

const PLAIN = /^[\0-\x7f]*$/;

function cut(word: string): string {
  return word.length > LONGEST_WORD ? word.slice(0, LONGEST_WORD).toWellFormed() : word;
}

/**
 * What the index holds of a record: its words, and the English stem of each, marked.
 * Each once; the first 400 kB of them.
 */
export function indexTokens(texts: readonly (string | null)[]): string[] {
  const tokens = new Set<string>();
  let bytes = 0;
  for (const text of texts) {
    if (text === null) continue;
    for (const word of wordsOf(text)) {
      if (tokens.has(word)) continue;
      const known = knownWord(word);
      bytes += known.bytes;
      if (bytes > MOST_BYTES_OF_A_RECORD) return [...tokens];
      tokens.add(known.word);
      if (known.stemToken !== null) tokens.add(known.stemToken);
    }
  }
  return [...tokens];
}

interface KnownWord {
  word: string;
  stemToken: string | null;
  /** What it counts for in the size of an entry. */
  bytes: number;
}

/** The words that were met last: an import meets the same few again and again. */
const known = new Map<string, KnownWord>();
const MOST_KNOWN_WORDS = 50_000;

/** No word of a language is longer; what is, hardly comes again. */
const LONGEST_KNOWN_WORD = 40;

function knownWord(word: string): KnownWord {
  const met = known.get(word);
  if (met !== undefined) return met;
  // Its own string: a slice of the text would keep the text in memory.
  const fresh = { word: Buffer.from(word).toString(), stemToken: markedStem(word), bytes: 2 * Buffer.byteLength(word) };
  if (word.length > LONGEST_KNOWN_WORD) return fresh;
  if (known.size >= MOST_KNOWN_WORDS) known.clear();
  known.set(word, fresh);
  return fresh;
}

/** One word of `q`: a record has it when a token begins with `prefix` or one equals `stemToken`. */
export interface QueryWord {
  prefix: string;
  stemToken: string | null;
}

/** The words of `q`, each once. Empty where `q` holds nothing but separators: that matches no record. */
export function queryWords(q: string): QueryWord[] {
  return [...new Set(wordsOf(q))].map((word) => ({ prefix: word, stemToken: markedStem(word) }));
}

/** A word without a letter from a to z is its own stem, which the prefix finds already. */
function markedStem(word: string): string | null {
  return /[a-z]/.test(word) ? STEM_MARK + stem(word) : null;
}

/**
 * What marks the search entry of a solicitation with its status, so that matches of one status
 * are counted without a look at their records. No word and no stem has two marks.
 */
export function statusToken(status: string): string {
  return STEM_MARK + STEM_MARK + status;
}
