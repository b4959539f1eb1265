import { stem } from 'porter2';

/** Splits a text into words: decomposed, without diacritics, case-folded, letters and digits only. */
export function cutWords(text: string): string[] {
  const plain = text.normalize('NFKD').replaceAll(/\p{M}/gu, '');
  return (
    Array.from(plain, foldCharacter)
      .join('')
      .match(/[\p{L}\p{Nd}]+/gu) ?? []
  );
}

/** Folded one at a time, a character is never at the end of a word, so sigma has a single lower-case form. */
function foldCharacter(character: string): string {
  return character === 'ẞ' ? 'ss' : character.toUpperCase().toLowerCase();
}

/** The searchable text of a record, split and stemmed once. */
export interface SearchedText {
  words: readonly string[];
  stems: ReadonlySet<string>;
}

export function searchedText(...texts: (string | null)[]): SearchedText {
  const words = [...new Set(texts.flatMap((text) => cutWords(text ?? '')))];
  return { words, stems: new Set(words.map(stem)) };
}

/** Whether every word of `q` is a prefix of a word in the text or shares its stem; a blank `q` matches everything. */
export function isFound(text: SearchedText, q: string): boolean {
  if (q.trim() === '') return true;
  if (asked?.q !== q) asked = { q, words: cutWords(q).map((word) => ({ word, stem: stem(word) })) };
  if (asked.words.length === 0) return false;
  return asked.words.every(
    ({ word, stem: stemOfWord }) => text.stems.has(stemOfWord) || text.words.some((other) => other.startsWith(word)),
  );
}

/** The words of the last `q`: every record of a list is compared with the same. */
let asked: { q: string; words: { word: string; stem: string }[] } | null = null;
