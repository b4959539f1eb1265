import { stem } from 'porter2';

/** Cuts a text into words: decomposed, without marks, case folded, letters and digits only. */
export function cutWords(text: string): string[] {
  const plain = text.normalize('NFKD').replaceAll(/\p{M}/gu, '');
  return (
    Array.from(plain, foldCharacter)
      .join('')
      .match(/[\p{L}\p{Nd}]+/gu) ?? []
  );
}

/** On its own, a character is never at the end of a word, so that a sigma has one lower case. */
function foldCharacter(character: string): string {
  return character === 'ẞ' ? 'ss' : character.toUpperCase().toLowerCase();
}

/** What of a record is searched, cut and stemmed once. */
export interface SearchedText {
  words: readonly string[];
  stems: ReadonlySet<string>;
}

export function searchedText(...texts: (string | null)[]): SearchedText {
  const words = [...new Set(texts.flatMap((text) => cutWords(text ?? '')))];
  return { words, stems: new Set(words.map(stem)) };
}

/** Whether every word of `q` begins a word of the text or shares its stem; no `q`, or a blank one, asks for nothing. */
export function isFound(text: SearchedText, q: string | undefined): boolean {
  if (q === undefined || q.trim() === '') return true;
  const asked = cutWords(q);
  if (asked.length === 0) return false;
  return asked.every((word) => text.stems.has(stem(word)) || text.words.some((other) => other.startsWith(word)));
}
